import texts from "./strings/en.json";

// What the server puts into the page.
const script = document.createElement("script");
script.type = "application/json";
script.id = "config";
script.textContent = JSON.stringify({ name: "Frontpage", links: [], without: [], texts });
document.head.append(script);
