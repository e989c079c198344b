package csvimport_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"frontpage/exchange/csvimport"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/store"
)

func ExampleRun() {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{URL: "memory://"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	repo, err := redisrepo.New(ctx, s.Client, site.DefaultRules())
	if err != nil {
		fmt.Println(err)
		return
	}

	file := strings.NewReader(`id,title,link,votes,poster,posted_at,groups
1,The Go memory model,https://go.dev/ref/mem,12,alice,1700000000,go
2,Redis persistence,https://redis.io/docs,many,bob,1700000600,redis
`)
	summary, err := csvimport.Run(ctx, repo, file, csvimport.Options{GroupByHost: true, Report: os.Stdout})
	fmt.Println(summary.Added, summary.Refused, err)

	articles, errs := repo.Articles.ArticlesByID(ctx, []site.ArticleID{1})
	fmt.Println(articles[0].Title, articles[0].Votes, articles[0].Groups, errs[0])
	// Output:
	// line 3: votes: "many" is not a whole number
	// 1 1 <nil>
	// The Go memory model 12 [go go.dev] <nil>
}
