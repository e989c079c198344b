declare module "*.vue" {
  import type { Component } from "vue";

  const component: Component;
  export default component;
}

declare module "*.svelte" {
  import type { Component } from "svelte";

  const component: Component<{ url: string; headers: Record<string, string> }>;
  export default component;
}
