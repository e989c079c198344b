import type { ComponentChildren, ComponentProps } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Skeleton, Unloaded } from "./states";

// The third script of the site, moderation.tsx, which few visits need: it is loaded when one of these is shown.

type Third = typeof import("./moderation");

let loaded: Third | undefined;

function Loaded({ children }: { children(third: Third): ComponentChildren }) {
  const [third, setThird] = useState(loaded);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    import("./moderation").then(
      (script) => {
        loaded = script;
        setThird(script);
      },
      () => setFailed(true),
    );
  }, []);
  if (!third) return failed ? <Unloaded /> : <Skeleton rows={2} />;
  return <>{children(third)}</>;
}

export const ModerationPage = (props: ComponentProps<Third["ModerationPage"]>) => (
  <Loaded>{(third) => <third.ModerationPage {...props} />}</Loaded>
);

export const Report = (props: ComponentProps<Third["Report"]>) => (
  <Loaded>{(third) => <third.Report {...props} />}</Loaded>
);
