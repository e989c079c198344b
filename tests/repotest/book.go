package repotest

// The functions Book… send the commands that the Python code of Redis in Action, chapter 1, sends: times have
// fractions, and users are named user:NAME.

import (
	"fmt"
	"strconv"

	"frontpage/redisrepo/site"
)

// BookNow is the time as the book writes it.
func BookNow(s *Site) string {
	return strconv.FormatFloat(float64(s.Clock.Now().Unix())+0.123457, 'f', -1, 64)
}

// BookPost is post_article(conn, user, title, link).
func BookPost(s *Site, user string) site.ArticleID {
	s.T.Helper()
	now := BookNow(s)
	number := fmt.Sprint(s.Do("INCR article:"))
	s.Do("SADD", "voted:"+number, user)
	s.Do("EXPIRE", "voted:"+number, 7*86400)
	s.Do("HMSET", "article:"+number, "title", "A title", "link", "http://book.example", "poster", user, "time", now, "votes", 1)
	posted, _ := strconv.ParseFloat(now, 64)
	s.Do("ZADD score:", posted+432, "article:"+number)
	s.Do("ZADD time:", now, "article:"+number)
	n, _ := strconv.Atoi(number)
	return site.ArticleID(n)
}

// BookVote is article_vote(conn, user, article).
func BookVote(s *Site, user string, id site.ArticleID) {
	s.T.Helper()
	cutoff := float64(s.Clock.Now().Unix()) - 7*86400
	if s.Do("ZSCORE time:", id.String()).(float64) < cutoff {
		return
	}
	if s.Do("SADD", fmt.Sprint("voted:", int(id)), user) == int64(1) {
		s.Do("ZINCRBY score: 432", id.String())
		s.Do("HINCRBY", id.String(), "votes", 1)
	}
}

// BookRegroup is add_remove_groups(conn, article_id, to_add, to_remove).
func BookRegroup(s *Site, id site.ArticleID, add, remove []string) {
	s.T.Helper()
	for _, group := range add {
		s.Do("SADD", "group:"+group, id.String())
	}
	for _, group := range remove {
		s.Do("SREM", "group:"+group, id.String())
	}
}
