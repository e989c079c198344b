package store_test

import (
	"context"
	"fmt"

	"frontpage/redisrepo/store"
)

func ExampleOpen() {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{URL: "memory://"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()

	fmt.Println("the store is", s)
	fmt.Println(s.Client.Incr(ctx, "visits").Result())
	// Output:
	// the store is in memory: all data is lost when this process ends
	// 1 <nil>
}

func ExampleOpen_error() {
	_, err := store.Open(context.Background(), store.Options{
		URL:   "redis://user:pass/word@localhost:6379",
		Names: map[string]string{"URL": "REDIS_URL"},
	})
	fmt.Println(err)
	// Output:
	// REDIS_URL: it cannot be parsed: write it like redis://user:password@host:6379/0, and percent-encode : / ? # [ ] @ % in a user name or password
}
