package graph

import (
	"encoding/json"
	"io"
	"strconv"

	"github.com/99designs/gqlgen/graphql"

	"frontpage/plan"
	"frontpage/redisrepo"
)

// A scalar has a function that appends it, for package plan, and one that writes the same, for gqlgen.

// AppendArticleID appends an article's global id.
func AppendArticleID(to []byte, id redisrepo.ArticleID) []byte {
	return append(id.Append(append(to, '"')), '"')
}

// MarshalArticleID writes an article's global id.
func MarshalArticleID(id redisrepo.ArticleID) graphql.Marshaler { return written(AppendArticleID, id) }

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

// AppendURL appends a link.
func AppendURL(to []byte, link string) []byte { return plan.AppendString(to, link) }

// MarshalURL writes a link.
func MarshalURL(link string) graphql.Marshaler { return written(AppendURL, link) }

// UnmarshalURL reads a link without checking it: that is part of posting.
func UnmarshalURL(v any) (string, error) {
	link, ok := v.(string)
	if !ok {
		return "", badInput("a URL is a string")
	}
	return link, nil
}

// AppendFloat appends a number in digits: 1767323477, not 1.767323477e+09.
func AppendFloat(to []byte, f float64) []byte { return strconv.AppendFloat(to, f, 'f', -1, 64) }

// MarshalFloat writes a number in digits.
func MarshalFloat(f float64) graphql.Marshaler { return written(AppendFloat, f) }

// UnmarshalFloat reads a number.
func UnmarshalFloat(v any) (float64, error) { return graphql.UnmarshalFloat(v) }

// written returns a marshaler that writes what appendTo appends.
func written[T any](appendTo func(to []byte, value T) []byte, value T) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = w.Write(appendTo(nil, value)) })
}
