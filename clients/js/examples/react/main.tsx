import { createRoot } from "react-dom/client";
import { App, createClient } from "./App";

const client = createClient("http://127.0.0.1:8080/query", { "X-User-ID": "bob" });
createRoot(document.body).render(<App client={client} />);
