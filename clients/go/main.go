// Command frontpage-client runs the scenario of the clients against FRONTPAGE_URL with the client that
// genqlient generates.
package main

//go:generate go tool genqlient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/Khan/genqlient/graphql"
	"github.com/gorilla/websocket"
)

// pageSize differs from the server's default, and does not divide the number of articles.
const pageSize = 30

func main() {
	if err := visit(context.Background(), os.Getenv("FRONTPAGE_URL")); err != nil {
		fmt.Fprintln(os.Stderr, "genqlient:", err)
		os.Exit(1)
	}
}

// user is a transport that authenticates requests as this user.
type user string

func (u user) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("X-User-ID", string(u))
	return http.DefaultTransport.RoundTrip(req)
}

func visit(ctx context.Context, url string) error {
	if url == "" {
		return errors.New("FRONTPAGE_URL is not set")
	}
	as := func(name string) graphql.Client { return graphql.NewClient(url, &http.Client{Transport: user(name)}) }

	front, err := FrontPage(ctx, as("genqlient-poster"))
	if err != nil {
		return err
	}
	if front.Viewer == nil || front.Viewer.Name != "genqlient-poster" || len(front.Articles) != 25 {
		return fmt.Errorf("front page: %d articles and viewer %v, want 25 and genqlient-poster", len(front.Articles), front.Viewer)
	}
	link := "https://github.com/Khan/genqlient"
	posted, err := Post(ctx, as("genqlient-poster"), PostInput{Title: "posted by genqlient", Link: &link, Groups: []string{"clients"}})
	if err != nil {
		return err
	}
	if posted.Post == nil || posted.Post.Article == nil {
		return fmt.Errorf("post returned no article: %+v", posted.Post)
	}
	newest := posted.Post.Article.Id
	voted, err := Vote(ctx, as("genqlient-voter"), VoteInput{Article: newest, Direction: VoteDirectionUp})
	if err != nil {
		return err
	}
	if voted.Vote == nil || voted.Vote.Article == nil || voted.Vote.Article.Votes != 2 {
		return fmt.Errorf("vote is not counted: %+v", voted.Vote)
	}

	if err := watch(ctx, url, newest, as); err != nil {
		return err
	}

	anonymous := graphql.NewClient(url, http.DefaultClient)
	byCursor, err := pageByCursor(ctx, anonymous)
	if err != nil {
		return err
	}
	for i := range 500 {
		if want := fmt.Sprintf("article:%d", 1001+i); i >= len(byCursor) || byCursor[i] != want {
			return fmt.Errorf("paging by cursor does not return %s at index %d", want, i)
		}
	}
	if byCursor[len(byCursor)-1] != newest {
		return errors.New("paging by cursor does not end with the newest article")
	}
	byPage, err := pageByNumber(ctx, anonymous)
	if err != nil {
		return err
	}
	if !slices.Equal(byCursor, byPage) {
		return errors.New("paging by cursor and by page number return different articles")
	}
	fmt.Printf("genqlient: a query, two mutations, a subscription, %d articles by cursor and by page number\n", len(byCursor))
	return nil
}

// dialer adapts the dialer of gorilla/websocket to genqlient.
type dialer struct{ websocket.Dialer }

func (d dialer) DialContext(ctx context.Context, url string, header http.Header) (graphql.WSConn, error) {
	conn, _, err := d.Dialer.DialContext(ctx, url, header)
	return conn, err
}

// watch votes for an article and checks that an event follows each vote.
func watch(ctx context.Context, url, article string, as func(string) graphql.Client) error {
	socket := graphql.NewClientUsingWebSocket("ws"+strings.TrimPrefix(url, "http"), dialer{},
		graphql.WithConnectionParams(map[string]any{"X-User-ID": "genqlient-watcher"}))
	failed, err := socket.Start(ctx)
	if err != nil {
		return err
	}
	changed, id, err := Changed(ctx, socket, []string{article})
	if err != nil {
		return err
	}
	received := 0
	for i := range 8 {
		voted, err := Vote(ctx, as(fmt.Sprintf("genqlient-%d", i)), VoteInput{Article: article, Direction: VoteDirectionUp})
		if err != nil {
			return err
		}
		select {
		case event := <-changed:
			if event.Errors != nil || event.Data == nil || event.Data.ArticleChanged.Votes != voted.Vote.Article.Votes {
				return fmt.Errorf("event after a vote: %+v", event)
			}
			received++
		case err := <-failed:
			return err
		case <-time.After(time.Second): // The subscription may have started after the vote.
		}
	}
	if received < 6 {
		return fmt.Errorf("%d events for 8 votes, want at least 6", received)
	}
	// socket.Close is not called: after Unsubscribe, genqlient would close the channel twice.
	return socket.Unsubscribe(id)
}

func pageByCursor(ctx context.Context, client graphql.Client) (ids []string, err error) {
	var after *string
	for {
		response, err := Walk(ctx, client, pageSize, after)
		if err != nil {
			return nil, err
		}
		list := response.ArticlesConnection
		for _, edge := range list.Edges {
			ids = append(ids, edge.Node.Id)
		}
		if !list.PageInfo.HasNextPage {
			return ids, nil
		}
		after = list.PageInfo.EndCursor
	}
}

func pageByNumber(ctx context.Context, client graphql.Client) (ids []string, err error) {
	for page := 1; ; page++ {
		response, err := Page(ctx, client, page, pageSize)
		if err != nil {
			return nil, err
		}
		if len(response.Articles) == 0 {
			return ids, nil
		}
		for _, article := range response.Articles {
			ids = append(ids, article.Id)
		}
	}
}
