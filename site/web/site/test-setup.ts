import { vi } from "vitest";
import { configure } from "./src/ui/strings";
import texts from "./strings/en.json";

vi.stubGlobal("fetch", async () => Response.json({ name: "Frontpage", links: [], without: [], texts }));
await configure();
vi.unstubAllGlobals();
