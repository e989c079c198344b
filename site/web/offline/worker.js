// Shows /offline instead of a page that cannot be loaded, and handles nothing else. The server begins this file with the
// tag of that page, so that browsers load a changed one.
const offline = "/offline";

addEventListener("install", (event) => {
  const store = async () => (await caches.open("offline")).add(new Request(offline, { cache: "reload" }));
  event.waitUntil(store());
});

// The browser asks for the page while it starts this worker.
addEventListener("activate", (event) => event.waitUntil(registration.navigationPreload?.enable()));

addEventListener("fetch", (event) => {
  const { request, preloadResponse } = event;
  if (request.mode !== "navigate" || request.method !== "GET") return;
  const load = async () => {
    try {
      return (await preloadResponse) ?? (await fetch(request));
    } catch (error) {
      const page = await caches.match(offline);
      if (page) return page;
      throw error;
    }
  };
  event.respondWith(load());
});
