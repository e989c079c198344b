import type { ComponentChildren } from "preact";
import type { BesideFragment } from "../data/gql";
import { paths } from "../ui/router";
import { counted, fill, texts } from "../ui/strings";
import { host } from "../ui/text";
import { ago } from "../ui/time";

// Package pages renders the same on the server. Its tests compare them.

const maxArticles = 3;

interface BesideProps {
  heading: ComponentChildren;
  articles: BesideFragment[];
  except: string[]; // ids of the article whose page it is, and of what stands above
  now: number;
  /** Whether they are of one host, which is in the heading. */
  from?: boolean;
}

/** A list beside an article; nothing if it has no other articles. */
export function Beside({ heading, articles, except, now, from }: BesideProps) {
  const others = articles.filter(({ id }) => !except.includes(id)).slice(0, maxArticles);
  if (others.length === 0) return null;
  return (
    <section class="neighbours">
      <h2>{heading}</h2>
      <ul>
        {others.map(({ id, number, title, link, votes, createdAt }) => (
          <li key={id}>
            <a class="title" dir="auto" href={paths.article(number)}>
              {title}
            </a>{" "}
            {link && !from && (
              <>
                <span class="host" dir="auto">
                  {host(link)}
                </span>{" "}
              </>
            )}
            <span class="about">
              {fill(texts.votesAndAge, {
                votes: counted(votes, texts.votes),
                time: ago(Date.parse(createdAt), now),
              })}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
