package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
)

// message is the body of an event. It has no names of users.
type message struct {
	Type      string `json:"type"` // such as article.voted
	Timestamp string `json:"timestamp"`
	Data      any    `json:"data"`
}

// change is what changed of an article. Counts are those after the change.
type change struct {
	Article   string           `json:"article"`
	Revision  int              `json:"revision"`
	Votes     int              `json:"votes"`
	Upvotes   int              `json:"upvotes"`
	Downvotes int              `json:"downvotes"`
	Score     float64          `json:"score"`
	Groups    []site.GroupName `json:"groups,omitempty"`
	Milestone *int             `json:"milestone,omitempty"`
	Ground    site.Ground      `json:"ground,omitempty"`
	Basis     string           `json:"basis,omitempty"`
	Reason    string           `json:"reason,omitempty"`
}

// loss is what an event of the type gap says.
type loss struct {
	LostFrom *string `json:"lostFrom"` // null: unknown
	KeptFrom string  `json:"keptFrom"`
}

// body returns the body of an event.
func body(e *events.Event) string {
	c := change{Article: e.Article.String(), Revision: e.Revision, Votes: e.Votes, Upvotes: e.Votes + e.Downvotes, Downvotes: e.Downvotes, Score: e.Score, Groups: e.Groups, Milestone: e.Milestone}
	if e.Why != nil {
		c.Ground, c.Basis, c.Reason = e.Why.Ground, e.Why.Basis, e.Why.Reason
	}
	return text(message{"article." + string(e.Kind), e.At.UTC().Format(site.DateTime), c})
}

// gap returns id and body of the event that says that others were lost.
func gap(endpoint string, e *events.ExpiredError, now time.Time) (id, body string) {
	l := loss{KeptFrom: e.KeptFrom.UTC().Format(site.DateTime)}
	if !e.LostFrom.IsZero() {
		l.LostFrom = new(e.LostFrom.UTC().Format(site.DateTime))
	}
	return fmt.Sprintf("msg_gap_%s_%d", endpoint, now.UnixMilli()), text(message{"gap", now.UTC().Format(site.DateTime), l})
}

func text(m message) string {
	encoded, _ := json.Marshal(m) // no value that it cannot encode
	return string(encoded)
}

// sign returns the header webhook-signature: a signature by each secret.
func sign(secrets [][]byte, id, timestamp, body string) string {
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signatures, " ")
}
