package layout_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
)

// recordOf is the key of the record of a link with a normalized form.
func recordOf(s *repotest.Site, form string) string {
	sum, tags := sha256.Sum256([]byte(form)), s.Tags()
	digest := hex.EncodeToString(sum[:16])
	return tags[keys.LinkIndex(len(tags), digest)] + "link:" + digest
}

// linkRecords lists the records of all links.
func linkRecords(s *repotest.Site) string {
	var lines []string
	for _, key := range s.Raw.Keys(s.Ctx, "*link:*").Val() {
		lines = append(lines, key+" "+s.Raw.Get(s.Ctx, key).Val())
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// asLayout6 replaces the records of links by those of layout 6, of which the normalized forms are given.
func asLayout6(s *repotest.Site, records map[string]string) {
	s.T.Helper()
	for _, key := range s.Raw.Keys(s.Ctx, "*link:*").Val() {
		s.Do("DEL", key)
	}
	for form, record := range records {
		s.Do("SET", recordOf(s, form), record)
	}
	for _, tag := range append(s.Tags(), "") {
		if s.Raw.Exists(s.Ctx, tag+"meta:").Val() == 1 {
			s.Do("HSET", tag+"meta:", "layout", "6")
		}
	}
}

// Records that layout 6 kept under other names follow their links, also those of deleted articles, and a link that a
// newer article no longer has goes back to the older one. A start may be killed after each of its writes, and several
// may run at once.
func TestUpgradeMovesTheRecordsOfLinks(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		partitions := redisrepo.WithPartitions(len(tags))
		s := repotest.New(t, nil, partitions)
		records := map[string]string{}
		add := func(age time.Duration, link, form string) redisrepo.Imported {
			a := repotest.Old(site.ArticleID(300+len(records)), age, 1)
			a.Draft.Link = &link
			records[form] = fmt.Sprintf("%v %d", a.ID, a.PostedAt.Unix())
			return a
		}
		all := []redisrepo.Imported{
			add(9*site.Day, "https://a.example/x?ref=selfh.st", "a.example/x?ref=selfh.st"),
			add(8*site.Day, "https://a.example/x", "a.example/x"),
			add(7*site.Day, "https://b.example/x", "b.example/x"),
			add(6*site.Day, "https://b.example/x#/topic/1", "b.example/x#/topic/1"),
			add(5*site.Day, "https://c.example/?si=1&id=2", "c.example?id=2&si=1"),
			add(4*site.Day, "https://d.example/?source=lobste.rs", "d.example?source=lobste.rs"),
			add(3*site.Day, "https://youtu.be/x?si=1", "youtu.be/x?si=1"),
			add(2*site.Day, "https://e.example/?ref=selfh.st", "e.example?ref=selfh.st"),
		}
		for i := range 40 {
			all = append(all, add(10*site.Day, fmt.Sprintf("https://f.example/%d?ref=selfh.st", i), fmt.Sprintf("f.example/%d?ref=selfh.st", i)))
		}
		s.MustImport(all...)
		records["b.example/x"] = records["b.example/x#/topic/1"]
		delete(records, "b.example/x#/topic/1")
		s.MustDelete(all[5].ID, repotest.Moderator)
		s.MustDelete(all[7].ID, site.Actor{Name: all[7].Poster})
		// It is free if it is in the partition of the article.
		records["e.example?ref=selfh.st"] = s.Raw.Get(s.Ctx, recordOf(s, "e.example")).Val()
		want := linkRecords(s)
		wantRecords := func() {
			t.Helper()
			s.WantNewest("https://a.example/x?ref=selfh.st", all[1].ID)
			s.WantNewest("https://b.example/x#part", all[2].ID)
			s.WantNewest("https://b.example/x#/topic/1/", all[3].ID)
			s.WantNewest("https://d.example", all[5].ID)
			s.WantNewest("https://youtu.be/x?si=2", all[6].ID)
			s.WantNewest("https://f.example/7", all[15].ID)
			if got := linkRecords(s); got != want {
				t.Errorf("after the upgrade the records are\n%s\nwant\n%s", got, want)
			}
			s.WantClean()
		}

		asLayout6(s, records)
		kills := 0
		for writes := 0; ; writes++ {
			left := writes
			client := s.Client(redistest.Hook(func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
				for _, c := range commands {
					if c.Name() != "evalsha" || !strings.Contains(fmt.Sprint(c.Args()[3:4]), "link:") {
						continue
					}
					if left--; left < 0 {
						return redistest.Fail(errKilled, commands)
					}
				}
				return send(ctx, commands)
			}))
			_, err := redisrepo.New(s.Ctx, client, s.Rules, partitions, redisrepo.WithClock(s.Clock.Now))
			if err == nil {
				break
			}
			if kills++; !errors.Is(err, errKilled) || kills > 100 {
				t.Fatalf("New: %v after %d kills, want that it was killed", err, kills)
			}
		}
		if kills < 3 {
			t.Errorf("%d starts were killed, want some", kills)
		}
		wantRecords()

		asLayout6(s, records)
		opensTogether(s, partitions)
		wantRecords()
	})
}
