package settings

import (
	"errors"
	"fmt"
	"time"

	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/webhooks"
	"frontpage/sealing"
)

// Notices are the settings of notices of illegal content.
type Notices struct {
	Secret            string `placeholder:"TEXT" help:"Secrets, each of at least 32 bytes, separated by commas or line breaks: the first encrypts what is for the operator alone, such as the contacts of notices and the secrets of webhooks, and all decrypt. Without it, no notices are taken, and there are no webhooks. Other users of the machine can see a flag: use the variable or a file."`
	SecretFile        string `hidden:""`
	Contact           string `placeholder:"TEXT" help:"How to reach the operator, and to object to what moderators do: an http or https URL, a mail address, or words, one line of at most 200 characters. Those who are concerned read it beside the reason, and a URL or an address is a link at the bottom of each page."`
	PublicLog         bool   `help:"Publish at /log, and in publicLog of the API, what moderators do: the action, the ground, the reason, the time and the title, without names."`
	NoticeContactDays int    `default:"${NoticeContactDays}" help:"For how many days after the decision the name and address of who sent a notice are kept, 1 to ${ReportsKeptDays}."`

	box *sealing.Box // of Secret or SecretFile, set by check; nil: none
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
	text, err := secret(n.Secret, n.SecretFile, "secret")
	if err != nil || text == "" {
		return err
	}
	secrets := sealing.Split(text)
	if len(secrets) == 0 {
		return Invalid(errors.New("it has no secret"), secretFlag(n.SecretFile, "secret"))
	}
	if n.box, err = sealing.New(secrets...); err != nil {
		return Invalid(err, secretFlag(n.SecretFile, "secret"))
	}
	return nil
}

// Webhooks returns how endpoints for events are kept.
func (s *Settings) Webhooks() webhooks.Options {
	return webhooks.Options{Box: s.box, Origins: s.WebhookOrigins}
}

// Reports returns how notices are kept.
func (s *Settings) Reports() reports.Options {
	return reports.Options{Box: s.box, ContactKept: time.Duration(s.NoticeContactDays) * site.Day, Origin: s.Address()}
}
