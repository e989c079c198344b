import { useClient } from "@urql/preact";
import { useRef, useState } from "preact/hooks";
import { explainError, sentence } from "../data/problem";
import { NoticeOf, type NoticeOfQuery, Notify, type NotifyMutation } from "../data/reporting-gql";
import { useTitle } from "../ui/hooks";
import { useVisit } from "../ui/router";
import { filled, texts } from "../ui/strings";
import { Decided } from "./decided";

type Sent = NonNullable<NotifyMutation["notifyIllegalContent"]>;
type UserError = Sent["userErrors"][number];
type Found = NonNullable<NoticeOfQuery["notice"]>;

/** A form for notices of illegal content, which needs no account, and one that shows what was decided. */
export function NoticePage() {
  useTitle(texts.noticeLink);
  const [sent, setSent] = useState<Sent>();
  return (
    <>
      <h1>{texts.noticeLink}</h1>
      {sent ? <Receipt sent={sent} /> : <NoticeForm done={setSent} />}
      <FindNotice />
    </>
  );
}

/** What the sender has to keep. */
function Receipt({ sent: { reference, secret } }: { sent: Sent }) {
  return (
    <div class="panel" role="status">
      <p>{texts.hasNotified}</p>
      <dl class="receipt">
        <dt>{texts.reference}</dt>
        <dd>
          <code>{reference}</code>
        </dd>
        <dt>{texts.noticeSecret}</dt>
        <dd>
          <code>{secret}</code>
        </dd>
      </dl>
    </div>
  );
}

function NoticeForm({ done }: { done(sent: Sent): void }) {
  const client = useClient();
  const { search } = useVisit();
  const form = useRef<HTMLFormElement>(null);
  // The same notice sent again is one notice.
  const key = useRef(crypto.randomUUID());
  const [errors, setErrors] = useState<UserError[]>([]);
  const [problem, setProblem] = useState("");
  const [sending, setSending] = useState(false);
  const [without, setWithout] = useState(false);
  const send = async (event: Event) => {
    event.preventDefault();
    if (sending || !form.current) return;
    setSending(true);
    const data = new FormData(form.current);
    const text = (name: string) => `${data.get(name) ?? ""}`.trim();
    const input = {
      locations: text("locations").split(/\s+/).filter(Boolean),
      explanation: text("explanation"),
      name: text("name") || null,
      email: text("email") || null,
      goodFaith: data.has("goodFaith"),
      withoutContact: without,
      idempotencyKey: key.current,
    };
    const result = await client.mutation(Notify, { input }).toPromise();
    setSending(false);
    const payload = result.data?.notifyIllegalContent;
    const refused = payload?.userErrors ?? [];
    setErrors(refused);
    setProblem(result.error ? explainError(result.error) : "");
    if (refused.length > 0) {
      key.current = crypto.randomUUID();
      const [first] = refused;
      form.current?.querySelector<HTMLElement>(`[name="${first?.field?.[0]}"]`)?.focus();
    }
    if (payload?.reference) done(payload);
  };
  const fields = ["locations", "explanation", "name", "email", "goodFaith"];
  const errorsOf = (field: string) => errors.filter((error) => error.field?.[0] === field);
  const others = errors.filter(({ field }) => !field?.[0] || !fields.includes(field[0]));
  const bind = (name: string) => ({
    id: `notice-${name}`,
    name,
    "aria-invalid": errorsOf(name).length > 0,
    "aria-describedby": `notice-${name}-error`,
  });
  const Errors = ({ of }: { of: string }) => (
    <p id={`notice-${of}-error`} class="error">
      {errorsOf(of)
        .map(({ message }) => sentence(message))
        .join(" ")}
    </p>
  );
  const about = new URLSearchParams(search).get("about") ?? "";
  return (
    <form class="form panel" ref={form} onSubmit={send} noValidate>
      <p>{texts.aboutNotices}</p>
      <div>
        <label for="notice-locations">{texts.noticeLocations}</label>
        <textarea {...bind("locations")} rows={2} defaultValue={about} />
        <Errors of="locations" />
      </div>
      <div>
        <label for="notice-explanation">{texts.noticeExplanation}</label>
        <textarea {...bind("explanation")} rows={6} maxLength={5000} />
        <Errors of="explanation" />
      </div>
      <label class="choice">
        <input type="checkbox" checked={without} onChange={() => setWithout(!without)} />{" "}
        {texts.noticeWithoutContact}
      </label>
      {!without && (
        <>
          <div>
            <label for="notice-name">{texts.noticeName}</label>
            <input {...bind("name")} autocomplete="name" maxLength={200} />
            <Errors of="name" />
          </div>
          <div>
            <label for="notice-email">{texts.noticeEmail}</label>
            <input {...bind("email")} type="email" autocomplete="email" />
            <Errors of="email" />
          </div>
        </>
      )}
      <div>
        <label class="choice">
          <input type="checkbox" {...bind("goodFaith")} /> {texts.noticeGoodFaith}
        </label>
        <Errors of="goodFaith" />
      </div>
      <p class="error" role="alert">
        {[problem, ...others.map(({ message }) => sentence(message))].join(" ")}
      </p>
      <button class="button" type="submit" aria-disabled={sending}>
        {texts.sendNotice}
      </button>
    </form>
  );
}

function FindNotice() {
  const client = useClient();
  const [found, setFound] = useState<Found | null>();
  const [problem, setProblem] = useState("");
  const find = async (event: Event) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => `${data.get(name) ?? ""}`.trim();
    const result = await client
      .query(
        NoticeOf,
        { reference: text("reference"), secret: text("secret") },
        { requestPolicy: "network-only" },
      )
      .toPromise();
    setProblem(result.error ? explainError(result.error) : result.data?.notice ? "" : texts.noSuchNotice);
    setFound(result.data?.notice);
  };
  return (
    <section>
      <h2>{texts.findNotice}</h2>
      <form class="form panel" onSubmit={find}>
        <div>
          <label for="reference">{texts.reference}</label>
          <input id="reference" name="reference" autocomplete="off" required />
        </div>
        <div>
          <label for="secret">{texts.noticeSecret}</label>
          <input id="secret" name="secret" autocomplete="off" required />
        </div>
        <p class="error" role="alert">
          {problem}
        </p>
        <button class="button" type="submit">
          {texts.showDecision}
        </button>
      </form>
      {found && (
        <>
          <p>{filled(texts.noticeWith, { reference: found.reference })}</p>
          <Decided reports={found.reports} />
        </>
      )}
    </section>
  );
}
