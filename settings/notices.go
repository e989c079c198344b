package settings

import (
	"errors"
	"fmt"
	"time"

	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/secretbox"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/webhooks"
)

// Notices are the settings of notices of illegal content.
type Notices struct {
	Secret            string `placeholder:"TEXT" help:"Secrets, each of at least 32 bytes, separated by commas or line breaks. The first encrypts contacts of notices and secrets of webhooks, all decrypt. Without it, notices and webhooks are off."`
	SecretFile        string `hidden:""`
	Contact           string `placeholder:"TEXT" help:"How to reach the operator, and to object to a decision of moderators: an http or https URL, a mail address, or words, one line of at most 200 characters. Users read it beside the reason; a URL or an address is a link on each page, too."`
	PublicLog         bool   `help:"Publish what moderators do, without names, at /log and in publicLog of the API."`
	NoticeContactDays int    `default:"${NoticeContactDays}" help:"How many days after the decision name and address of a notice are kept, 1 to ${ReportsKeptDays}."`

	box *secretbox.Box // of Secret or SecretFile, set by check; nil: none
}

// maxContact is the maximum number of characters of FRONTPAGE_CONTACT.
const maxContact = 200

func (n *Notices) check() error {
	if most := int(reports.Kept / site.Day); n.NoticeContactDays < 1 || n.NoticeContactDays > most {
		return Invalid(fmt.Errorf("%d is not between 1 and %d", n.NoticeContactDays, most), "notice-contact-days")
	}
	if err := checkLine(n.Contact, maxContact); err != nil {
		return Invalid(err, "contact")
	}
	text, err := secret(n.Secret, n.SecretFile, "secret", 0)
	if err != nil || text == "" {
		return err
	}
	secrets := secretbox.Split(text)
	if len(secrets) == 0 {
		return Invalid(errors.New("it has no secret"), secretFlag(n.SecretFile, "secret"))
	}
	if n.box, err = secretbox.New(secrets...); err != nil {
		return Invalid(err, secretFlag(n.SecretFile, "secret"))
	}
	return nil
}

// Webhooks returns the options of webhooks.
func (s *Settings) Webhooks() webhooks.Options {
	return webhooks.Options{Box: s.box, Origins: s.WebhookOrigins}
}

// Reports returns the options of reports and notices.
func (s *Settings) Reports() reports.Options {
	return reports.Options{Box: s.box, ContactKept: time.Duration(s.NoticeContactDays) * site.Day, Origin: s.Address()}
}
