package graph

import (
	"encoding/json"
	"io"
	"strconv"

	"github.com/99designs/gqlgen/graphql"

	"frontpage/redisrepo"
)

// MarshalArticleID writes an article's global id.
func MarshalArticleID(id redisrepo.ArticleID) graphql.Marshaler {
	return graphql.MarshalID(id.String())
}

// UnmarshalArticleID reads an article's global id, or its bare number.
func UnmarshalArticleID(v any) (redisrepo.ArticleID, error) {
	switch v := v.(type) {
	case json.Number:
		return redisrepo.ParseArticleID(v.String())
	case string:
		return redisrepo.ParseArticleID(v)
	default:
		// An ID may be written as an Int literal.
		s, err := graphql.UnmarshalID(v)
		if err != nil {
			return 0, badInput("an ID is a string or an integer")
		}
		return redisrepo.ParseArticleID(s)
	}
}

// MarshalURL writes a link.
func MarshalURL(link string) graphql.Marshaler { return graphql.MarshalString(link) }

// UnmarshalURL reads a link without checking it: that is part of posting.
func UnmarshalURL(v any) (string, error) {
	link, ok := v.(string)
	if !ok {
		return "", badInput("a URL is a string")
	}
	return link, nil
}

// MarshalFloat writes a number in digits: 1767323477, not 1.767323477e+09.
func MarshalFloat(f float64) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) {
		_, _ = w.Write(strconv.AppendFloat(nil, f, 'f', -1, 64))
	})
}

// UnmarshalFloat reads a number.
func UnmarshalFloat(v any) (float64, error) { return graphql.UnmarshalFloat(v) }
