// Webhooks posts signed webhooks to one receiver as fast as it takes them, with notifyd's own
// client and signature, and prints the notices in them as the windows of a job: what a
// process can post at most that has no log, no queue and no ingest. peers/notices is notifyd beside
// it.
//
//	webhooks --to http://127.0.0.1:9000/hook --secret whsec_... --in-flight 256
//
// It is not for load at a rate. It ends with SIGTERM or the first webhook that is refused, and owns
// a goroutine for each webhook in flight.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"dyno/bench/peers/callers"
	"dyno/services/notify"
	"dyno/services/notify/notice"
	"dyno/services/notify/subscription"
	"dyno/services/notify/webhook"
)

type options struct {
	to, secret string
	assembly   string
	inFlight   int // webhooks
	batch      int // notices in each
	payload    int // bytes of each, about
}

func main() {
	var o options
	flag.StringVar(&o.to, "to", "", "`URL` of the receiver")
	flag.StringVar(&o.secret, "secret", "", "whsec_... secret to sign with")
	flag.StringVar(&o.assembly, "assembly", "tuned", "assembly of notifyd whose client is used")
	flag.IntVar(&o.inFlight, "in-flight", 256, "webhooks in flight")
	flag.IntVar(&o.batch, "batch", 1, "notices in a webhook")
	flag.IntVar(&o.payload, "payload", 160, "bytes of a notice's payload, about")
	flag.Parse()
	callers.Main("webhooks", func(ctx context.Context) error {
		if err := o.check(); err != nil {
			return err
		}
		return o.run(ctx, os.Stdout)
	})
}

func (o options) check() error {
	switch {
	case flag.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	case o.to == "" || o.secret == "":
		return errors.New("give --to and --secret")
	case o.inFlight < 1 || o.inFlight > 4096 || o.batch < 1 || o.batch > 1000:
		return errors.New("--in-flight is 1 to 4096, --batch 1 to 1000")
	case o.payload < 1 || o.payload > 64<<10:
		return errors.New("--payload is 1 to 65536 bytes")
	}
	return nil
}

// run posts until ctx ends, and prints the notices of the webhooks that were accepted.
func (o options) run(ctx context.Context, out io.Writer) error {
	choice, err := notify.Assembly().Resolve(o.assembly, nil)
	if err != nil {
		return err
	}
	target, err := o.target()
	if err != nil {
		return err
	}
	sender, err := webhook.NewSender(webhook.Options{
		Client: choice.Get("client"), Workers: o.inFlight, Timeout: notify.FromChoice(choice).Timeout, AllowPrivate: true,
	})
	if err != nil {
		return err
	}
	defer sender.Close()
	var next atomic.Int64
	payload := []byte(`"` + strings.Repeat("x", o.payload) + `"`)
	return callers.Run(ctx, out, o.inFlight, o.batch, func(int) (func() error, error) {
		return func() error { return post(sender, target, o.notices(next.Add(int64(o.batch)), payload)) }, nil
	})
}

// target is the receiver, with the secret that signs.
func (o options) target() (*webhook.Target, error) {
	key, err := webhook.ParseSecret(o.secret)
	if err != nil {
		return nil, err
	}
	return webhook.NewTarget(o.to, []subscription.Secret{{Key: key}})
}

// post sends one webhook. An answer other than 2xx is an error.
func post(sender *webhook.Sender, target *webhook.Target, notices []*notice.Notice) error {
	accepted := time.Now().UnixNano()
	for _, n := range notices {
		n.Accepted = accepted
	}
	if out := sender.Send(context.Background(), "", &webhook.Webhook{Target: target, Notices: notices}); !out.Delivered() {
		return fmt.Errorf("posting a webhook: %s", out.Reason())
	}
	return nil
}

// keys is how many the notices are spread over.
const keys = 10_000

// notices are those of one webhook, the last of which has a number.
func (o options) notices(last int64, payload []byte) []*notice.Notice {
	out := make([]*notice.Notice, o.batch)
	for i := range out {
		n := last - int64(o.batch-1-i)
		out[i] = &notice.Notice{ID: "raw-" + strconv.FormatInt(n, 10), Key: "key-" + strconv.FormatInt(n%keys, 10), Type: "order.shipped", Payload: payload}
	}
	return out
}
