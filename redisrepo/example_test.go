package redisrepo_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
)

// Open a site, post two articles, vote, and list them by score.
func Example() {
	server, err := redistest.Open() // or any client of go-redis
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()

	repo, err := redisrepo.New(ctx, server.Client, site.DefaultRules())
	if err != nil {
		log.Print(err)
		return
	}
	for _, title := range []string{"Redis in Action", "The Go Blog"} {
		text := "Worth reading."
		article, err := repo.Post(ctx, "alice", site.Draft{Title: title, Text: &text, Groups: []string{"Reading"}})
		if err != nil {
			log.Print(err)
			return
		}
		fmt.Println("posted", article.ID, article.Groups)
	}
	result, err := repo.Vote(ctx, 1, "bob", site.Up, "")
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println("bob's vote was", result.Previous, "and is now up:", result.Article.Votes, "votes")

	ids, err := repo.Lists.List(ctx, lists.InGroup("reading", site.ByScore, site.Descending), 1, nil)
	if err != nil {
		log.Print(err)
		return
	}
	articles, _ := repo.Articles.ArticlesByID(ctx, ids)
	for _, a := range articles {
		fmt.Println(a.ID, a.Title)
	}
	// Output:
	// posted article:1 [reading]
	// posted article:2 [reading]
	// bob's vote was none and is now up: 2 votes
	// article:1 Redis in Action
	// article:2 The Go Blog
}

// A Refusal lists everything that is wrong with a call, and is safe to show. Any other error is not.
func ExampleRefusal() {
	_, err := site.ParseGroupName("no spaces")
	var refusal site.Refusal
	if errors.As(err, &refusal) {
		for _, e := range refusal {
			fmt.Println(e.Code, e.Message)
		}
	}
	// Output:
	// INVALID a group name has 1 to 64 letters, digits, '-', '_' or '.': "no spaces" is invalid
}
