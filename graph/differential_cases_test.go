package graph_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
)

// Random documents found these after many thousands.
func TestPlansAnswerLikeGqlgenWhere(t *testing.T) {
	t.Parallel()
	p := newPair(t, differentialServer(t), 0)
	p.fill(rand.New(rand.NewPCG(*seed, 0)))
	for _, c := range []struct {
		rule, document string
		faults         func(faults) bool // which are wanted
		errors         int               // of the answer
	}{
		{
			"nothing is read below an object for which a batch resolver failed",
			`mutation { vote(input: {article: "article:1"}) { article { groups { articlesConnection(order: TIME) { nodes { id } } } } } }`,
			func(f faults) bool { return f.kind(len(injected)+3, "Article.groups") == len(injected)+2 }, 1,
		},
		{
			"only the fields of the mutation itself run one after the other",
			`mutation { vote(input: {article: "article:1"}) { article { viewerCanVote poster { articlesConnection { totalCount } } } } }`,
			func(f faults) bool { return f.kind(len(injected)+3, "Article.viewerCanVote") == 0 }, 2,
		},
	} {
		r := request{document: document{text: c.document, kind: ast.Mutation}, viewer: "mod", faults: faults{share: 200}}
		for found := false; !found; {
			if r.faults.salt++; !c.faults(r.faults) {
				continue
			}
			answers, difference := p.try(r)
			if difference != "" {
				t.Errorf("%s: %s", c.rule, difference)
			}
			found = len(answers[0].errors) == c.errors && slices.ContainsFunc(answers[0].paths, func(path ast.Path) bool { return len(path) == 3 }) || difference != ""
		}
	}
}
