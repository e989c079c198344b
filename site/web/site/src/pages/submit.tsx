import { useQuery } from "@urql/preact";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { askToSignIn } from "../data/asking";
import {
  completeLink,
  type Draft,
  fromAddress,
  idempotencyKey,
  keepDraft,
  lastWord,
  readDraft,
  suggest,
  toInput,
  withGroup,
} from "../data/draft";
import { Groups, Post, type PostMutation } from "../data/later-gql";
import { useSend } from "../data/mutations";
import { usePage } from "../data/page";
import { explainError, explainRefusal } from "../data/problem";
import { useSettled, useTitle } from "../ui/hooks";
import { has, isHere, navigate, paths, useScroll, useVisit } from "../ui/router";
import { config, fill, filled, texts } from "../ui/strings";
import { duration } from "../ui/time";
import { Duplicate } from "./duplicate";
import { Rules } from "./group";

type UserError = NonNullable<PostMutation["post"]>["userErrors"][number];

const fields = ["title", "link", "text", "groups"] as const;
const maxSuggestions = 6;
const longTitle = 160; // characters from which the form counts them

export function SubmitPage() {
  useTitle(texts.submit);
  const { site, viewer, say } = usePage();
  const visit = useVisit();
  useScroll(true);
  const form = useRef<HTMLFormElement>(null);
  const [draft, setDraft] = useState(firstDraft);
  const [errors, setErrors] = useState<UserError[]>([]);
  const [writes, setWrites] = useState(false);
  const [typed, setTyped] = useState<typeof import("./typed")>();
  const { send, sending } = useSend("Post", Post);

  useEffect(() => void import("./typed").then(setTyped, () => {}), []);
  useEffect(() => keepDraft(draft), [draft]);
  useEffect(() => {
    form.current?.querySelector<HTMLElement>("[aria-invalid]")?.focus();
  }, [errors]);

  const submit = async (event: Event) => {
    event.preventDefault();
    if (sending) return;
    const input = toInput(draft);
    const { data, error } = await send({ ...input, idempotencyKey: idempotencyKey(input) });
    setErrors(data?.post?.userErrors ?? []);
    if (data?.post?.article) {
      keepDraft(undefined);
      say(texts.hasPosted);
      if (isHere(visit)) navigate(paths.article(data.post.article.number), "replace");
    } else if (error) {
      say(`${explainError(error)} ${texts.postSaved}`);
    }
  };

  const length = [...draft.title].length;
  const errorsOf = (field: string) => errors.filter((error) => error.field?.[0] === field);
  const others = errors.filter((error) => !fields.some((field) => field === error.field?.[0]));
  const bind = (name: keyof Draft) => ({
    id: name,
    value: draft[name],
    onInput: (event: Event) =>
      setDraft({ ...draft, [name]: (event.currentTarget as HTMLInputElement).value }),
    "aria-describedby": `${name}-about${errorsOf(name).length > 0 ? ` ${name}-error` : ""}`,
    "aria-invalid": errorsOf(name).length > 0 || undefined,
  });
  return (
    <form class="form" ref={form} onSubmit={submit} noValidate>
      <h1>{texts.submitArticle}</h1>
      {site && !viewer && (
        <p>
          {filled(texts.signInFirst, {
            link: (
              <a href="/signin" onClick={(event) => askToSignIn(site, event)}>
                {texts.signInLink}
              </a>
            ),
          })}
        </p>
      )}
      <Field name="link" label={texts.link} about={texts.aboutLink} errors={errorsOf("link")}>
        <input
          {...bind("link")}
          type="url"
          inputMode="url"
          autocomplete="off"
          placeholder="https://"
          onBlur={() => setDraft({ ...draft, link: completeLink(draft.link) })}
        />
        {typed && errorsOf("link").length === 0 && <typed.Known text={draft.link} />}
      </Field>
      <Field
        name="title"
        label={texts.title}
        about={length < longTitle ? texts.aboutTitle : `${length}/200`}
        errors={errorsOf("title")}
      >
        <input {...bind("title")} required autocomplete="off" />
        {has("/search") && (
          <div class="about similar" aria-live="polite">
            {typed && <typed.SimilarArticles text={draft.title} />}
          </div>
        )}
      </Field>
      <Field name="groups" label={texts.groups} about={texts.aboutGroups} errors={errorsOf("groups")}>
        <input {...bind("groups")} autocomplete="off" autocapitalize="none" spellcheck={false} />
        <Suggestions text={draft.groups} choose={(groups) => setDraft({ ...draft, groups })} />
      </Field>
      {writes || !draft.link.trim() || draft.text ? (
        <Field name="text" label={texts.text} about={texts.aboutText} errors={errorsOf("text")}>
          <textarea {...bind("text")} rows={6} />
        </Field>
      ) : (
        <button class="quiet" type="button" onClick={() => setWrites(true)}>
          {texts.addText}
        </button>
      )}
      <div class="beside">
        {config.rules.length > 0 && (
          <div class="about rules">
            {texts.siteRules}
            <Rules rules={config.rules} />
          </div>
        )}
        {typed && <typed.RulesOfGroups text={draft.groups} />}
      </div>
      <div role="alert">
        {others.map((error) => (
          <p key={error.code + error.message} class="error">
            {explainRefusal(error)}
          </p>
        ))}
      </div>
      <button class="button" type="submit" aria-disabled={sending}>
        {sending ? texts.posting : texts.post}
      </button>
      <p class="about">
        {fill(texts.canChange, {
          title: duration(config.editable.title),
          text: duration(config.editable.text),
        })}
      </p>
      <p class="about bookmarklet">
        {filled(texts.aboutBookmarklet, {
          link: (
            <a href={bookmarklet} onClick={(event) => event.preventDefault()}>
              {fill(texts.bookmarklet, { site: config.name })}
            </a>
          ),
        })}
      </p>
    </form>
  );
}

const firstDraft = (): Draft => fromAddress(readDraft(), new URLSearchParams(location.search));

/** Opens this form from another page, with its address and title. */
const bookmarklet = `javascript:location.href="${location.origin}/submit?"+new URLSearchParams({link:location,title:document.title})`;

interface FieldProps {
  name: string;
  label: string;
  about: string;
  errors: UserError[];
  children: ComponentChildren;
}

function Field({ name, label, about, errors, children }: FieldProps) {
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <p id={`${name}-about`} class="about">
        {about}
      </p>
      {children}
      {errors.length > 0 && (
        <div id={`${name}-error`} class="error">
          {errors.map((error) => (
            <p key={error.message}>
              {"articleId" in error ? <Duplicate article={error.article} /> : explainRefusal(error)}
            </p>
          ))}
        </div>
      )}
    </div>
  );
}

/** Suggests existing groups, the largest first. */
function Suggestions({ text, choose }: { text: string; choose(text: string): void }) {
  const contains = useSettled(lastWord(text));
  const [{ data }] = useQuery({ query: Groups, variables: { contains } });
  const groups = data?.groups?.nodes ?? [];
  const offered = suggest(
    text,
    groups.map((group) => group.name),
    maxSuggestions,
  );
  return (
    <p class="chips">
      {offered.map((name) => (
        <button
          key={name}
          type="button"
          aria-label={fill(texts.addGroup, { group: name })}
          onClick={() => choose(withGroup(text, name))}
        >
          {name}
        </button>
      ))}
    </p>
  );
}
