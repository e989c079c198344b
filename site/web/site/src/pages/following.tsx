import { useClient } from "@urql/preact";
import { usePage } from "../data/page";
import { texts } from "../ui/strings";

/** A button to follow a group or a user, or to end that, for signed-in users. */
export function FollowButton({ id, follows }: { id: string; follows?: boolean | null }) {
  const { viewer, say, load } = usePage();
  const client = useClient();
  if (!viewer || typeof follows !== "boolean") return null;
  const press = () =>
    load().then(
      ({ follow }) => follow(client, say, id, !follows),
      () => say(texts.notLoaded),
    );
  return (
    <button type="button" class="follow" aria-pressed={follows} onClick={press}>
      {follows ? texts.follows : texts.follow}
    </button>
  );
}
