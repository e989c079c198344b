import { type CombinedError, useClient } from "@urql/preact";
import { useEffect, useState } from "preact/hooks";
import { usePage } from "../data/page";
import { OwnReports as OwnReportsQuery, type ReportedFragment } from "../data/reporting-gql";
import { Skeleton } from "../ui/states";
import { texts } from "../ui/strings";
import { Decided } from "./decided";
import { Failed } from "./failed";

// The script for reports and notices, see third.tsx.

export { start } from "./acting";
export { NoticePage } from "./notice";
export { Report } from "./report";

/** What the visitor has reported, and what was decided. */
export function OwnReports() {
  const client = useClient();
  const { viewer, connections } = usePage();
  const [reports, setReports] = useState<ReportedFragment[]>([]);
  const [after, setAfter] = useState<string | null>();
  const [error, setError] = useState<CombinedError>();
  const read = async (after?: string | null) => {
    const { data, error } = await client
      .query(OwnReportsQuery, { after }, { requestPolicy: "network-only" })
      .toPromise();
    const page = data?.viewerReports;
    setError(page ? undefined : error);
    if (!page) return;
    setReports((before) => (after ? [...before, ...page.nodes] : page.nodes));
    setAfter(page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null);
  };
  useEffect(() => {
    if (viewer) void read();
  }, [viewer, connections]);
  if (after === undefined) return error ? <Failed level={1} error={error} retry={read} /> : <Skeleton />;
  return (
    <>
      <header class="heading">
        <h1>{texts.ownReports}</h1>
      </header>
      {reports.length === 0 ? <p>{texts.noOwnReports}</p> : <Decided reports={reports} />}
      {after && (
        <button type="button" class="more" onClick={() => read(after)}>
          {texts.moreReports}
        </button>
      )}
    </>
  );
}
