import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { askToSignIn } from "../data/asking";
import { Feed, Saved } from "../data/later-gql";
import { usePage } from "../data/page";
import { useTitle } from "../ui/hooks";
import { paths } from "../ui/router";
import { Empty, Skeleton } from "../ui/states";
import { filled, texts } from "../ui/strings";
import { FollowButton } from "./following";
import { ArticleList } from "./list";
import { dated, source, useListed } from "./lists";

/** A page that is for the signed-in user alone. Others read what it says, with a link to sign in. */
export function ForViewer(props: { title: string; says: string; children: ComponentChildren }) {
  const { site, viewer } = usePage();
  if (!site) return <Skeleton />;
  if (viewer) return <>{props.children}</>;
  const link = (
    <a href="/signin" onClick={(event) => askToSignIn(site, event)}>
      {texts.signInLink}
    </a>
  );
  return (
    <Empty level={1} title={props.title}>
      <p>{filled(props.says, { link })}</p>
    </Empty>
  );
}

/** What the viewer has saved, the latest first. */
export function SavedPage() {
  useTitle(texts.savedOfViewer);
  const list = useMemo(() => dated(Saved, {}, (data) => data.viewerSaved, texts.youSaved), []);
  return (
    <ForViewer title={texts.savedOfViewer} says={texts.savedPrivate}>
      <header class="heading">
        <h1>{texts.savedOfViewer}</h1>
        <p>{texts.aboutVotes}</p>
      </header>
      <ArticleList
        source={list}
        empty={
          <Empty title={texts.noneSaved}>
            <p>{texts.savedAppear}</p>
          </Empty>
        }
      />
    </ForViewer>
  );
}

/** The articles of the groups and users that the viewer follows, the newest first. */
export function FollowingPage() {
  useTitle(texts.followedByViewer);
  const list = useMemo(
    () =>
      source(Feed, {}, ({ viewerFeed }) => viewerFeed && { ...viewerFeed, totalCount: 0 }, { fresh: true }),
    [],
  );
  const data = useListed(Feed, {});
  return (
    <ForViewer title={texts.followedByViewer} says={texts.followingPrivate}>
      <header class="heading">
        <h1>{texts.followedByViewer}</h1>
        <p>{texts.aboutFollowing}</p>
      </header>
      <ul class="followed">
        {data?.viewerFollowing?.map(
          (each) =>
            "name" in each && (
              <li key={each.id}>
                <a
                  dir="auto"
                  href={each.id.startsWith("group:") ? paths.list("SCORE", each.name) : paths.user(each.name)}
                >
                  {each.name}
                </a>{" "}
                <FollowButton id={each.id} follows />
              </li>
            ),
        )}
      </ul>
      <ArticleList
        source={list}
        empty={
          <Empty title={texts.noneFollowed}>
            <p>{texts.followOnPages}</p>
          </Empty>
        }
      />
    </ForViewer>
  );
}
