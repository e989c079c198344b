import type { ComponentChildren, ComponentProps } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useTitle } from "../ui/hooks";
import { Skeleton, Unloaded } from "../ui/states";
import { texts } from "../ui/strings";
import { ForViewer } from "./kept";

// Scripts that few visits need. Each is loaded when one of these is shown.

type Moderation = typeof import("./moderation");
type Reporting = typeof import("./reporting");

/** Returns a component that shows what its children make of a script, once it is loaded. */
function lazily<Script>(load: () => Promise<Script>) {
  let loaded: Script | undefined;
  return function Loaded({ children }: { children(script: Script): ComponentChildren }) {
    const [script, setScript] = useState(loaded);
    const [failed, setFailed] = useState(false);
    useEffect(() => {
      load().then(
        (script) => {
          loaded = script;
          setScript(script);
        },
        () => setFailed(true),
      );
    }, []);
    if (!script) return failed ? <Unloaded /> : <Skeleton rows={2} />;
    return <>{children(script)}</>;
  };
}

const WithLab = lazily(() => import("./lab"));
const WithModeration = lazily(() => import("./moderation"));
const WithReporting = lazily(() => import("./reporting"));

export const LabPage = () => <WithLab>{({ LabPage }) => <LabPage />}</WithLab>;

export const ModerationPage = (props: ComponentProps<Moderation["ModerationPage"]>) => (
  <ForViewer title={texts.moderation} says={texts.moderatorsSignIn}>
    <WithModeration>{({ ModerationPage }) => <ModerationPage {...props} />}</WithModeration>
  </ForViewer>
);

export const Report = (props: ComponentProps<Reporting["Report"]>) => (
  <WithReporting>{({ Report }) => <Report {...props} />}</WithReporting>
);

export function OwnReports() {
  useTitle(texts.ownReports);
  return (
    <ForViewer title={texts.ownReports} says={texts.reportsPrivate}>
      <WithReporting>{({ OwnReports }) => <OwnReports />}</WithReporting>
    </ForViewer>
  );
}

export const NoticePage = () => <WithReporting>{({ NoticePage }) => <NoticePage />}</WithReporting>;
