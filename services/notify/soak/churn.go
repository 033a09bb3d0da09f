package soak

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"dyno/services/notify/soak/history"
)

// churn makes, changes and deletes subscriptions, one change after the other. Each acknowledged
// change proves to the history that what came before it is durable, so there are many.
type churn struct {
	*run
	random *rand.Rand
	count  int
	alive  []string // of those that come and go

	ids         map[string]string              // by name, as the dispatcher calls them
	definitions map[string]*history.Definition // by name, as acknowledged; nil: deleted
	rotated     map[string]bool                // by name, its secret was
}

func newChurn(r *run) *churn {
	return &churn{run: r, random: rand.New(rand.NewPCG(r.Seed, 100)),
		ids: map[string]string{}, definitions: map[string]*history.Definition{}, rotated: map[string]bool{}}
}

// maxAlive bounds the subscriptions that come and go.
const maxAlive = 4

// begin makes the subscriptions that stay.
func (c *churn) begin(ctx context.Context) error {
	for _, s := range []struct {
		name string
		subscriber
		history.Definition
	}{
		{"healthy", subscriber{}, history.Definition{Concurrency: 8}},
		{"flaky", subscriber{fails: 0.3}, history.Definition{Types: []string{"order.*"}, Concurrency: 8}},
		{"slow", subscriber{delay: 20 * time.Millisecond}, history.Definition{Types: []string{"alert"}, Concurrency: 8}},
		{"batch", subscriber{}, history.Definition{Batch: 8, Concurrency: 2}},
		{"failing-batch", subscriber{fails: 0.1, delay: 3 * time.Millisecond}, history.Definition{Types: []string{"alert", "order.sent.*"}, Batch: 20, Concurrency: 2}},
	} {
		c.receiver.add(s.name, &s.subscriber)
		if err := c.create(ctx, s.name, s.Definition); err != nil {
			return err
		}
	}
	return nil
}

// work changes subscriptions until stop is closed.
func (c *churn) work(ctx context.Context, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		case <-time.After(time.Duration(c.random.Int64N(int64(20 * time.Millisecond)))):
		}
		if err := c.change(ctx); err != nil {
			return err
		}
	}
}

func (c *churn) change(ctx context.Context) error {
	if kind := c.random.IntN(10); len(c.alive) == 0 || len(c.alive) < maxAlive && kind < 2 {
		c.count++
		name := fmt.Sprintf("churn-%d", c.count)
		c.receiver.add(name, &subscriber{})
		c.alive = append(c.alive, name)
		return c.create(ctx, name, c.definition())
	}
	i := c.random.IntN(len(c.alive))
	name := c.alive[i]
	switch kind := c.random.IntN(20); {
	case kind == 0:
		c.alive = slices.Delete(c.alive, i, i+1)
		return c.delete(ctx, name)
	case kind < 3 && !c.rotated[name]:
		c.rotated[name] = true
		return c.rotate(ctx, name)
	}
	d := c.definition()
	d.Batch = 1 + c.definitions[name].Batch%3 // so that it is a change
	return c.patch(ctx, name, d)
}

func (c *churn) definition() history.Definition {
	d := history.Definition{Concurrency: 1 + c.random.IntN(3), Batch: 1 + c.random.IntN(3)}
	if wanted := types[c.random.IntN(len(types))]; c.random.IntN(3) > 0 {
		d.Types = []string{wanted}
	}
	return d
}

// view is a subscription as the API shows it.
type view struct {
	ID          string   `json:"id,omitempty"`
	URL         string   `json:"url,omitempty"`
	Types       []string `json:"types,omitempty"`
	Batch       int      `json:"batch,omitempty"`
	Concurrency int      `json:"concurrency,omitempty"`
	Secret      string   `json:"secret,omitempty"`
}

// outcome is what became of an attempt to change something.
type outcome int

const (
	unknown outcome = iota
	found           // it had been made, by an attempt that was not answered
	made            // by this attempt, durably
)

func (c *churn) create(ctx context.Context, name string, d history.Definition) error {
	secret := secretOf(name, 0)
	if err := c.receiver.trust(name, secret, 0); err != nil {
		return err
	}
	ask := view{URL: c.receiver.url + "/" + name, Types: d.Types, Batch: d.Batch, Concurrency: d.Concurrency, Secret: secret}
	return c.acknowledge(ctx, name, &d, func() (outcome, error) {
		status, answer, err := c.send(ctx, http.MethodPost, "/v1/subscriptions", ask)
		if _, unanswered := err.(broken); unanswered { // is it there?
			return c.find(ctx, name)
		}
		if err != nil || later(status) {
			return unknown, err
		}
		var v view
		if err := json.Unmarshal(answer, &v); err != nil || status != http.StatusCreated || v.ID == "" {
			return unknown, fmt.Errorf("POST /v1/subscriptions: %d %.300s", status, answer)
		}
		c.ids[name] = v.ID
		return made, nil
	})
}

// find looks for a subscription whose making was not answered.
func (c *churn) find(ctx context.Context, name string) (outcome, error) {
	views, err := c.views(ctx)
	if v, there := views[name]; there {
		c.ids[name] = v.ID
		return found, nil
	}
	return unknown, err
}

func (c *churn) patch(ctx context.Context, name string, d history.Definition) error {
	if d.Types == nil {
		d.Types = []string{"*"}
	}
	return c.acknowledge(ctx, name, &d, func() (outcome, error) {
		return c.ask(ctx, http.MethodPatch, name, view{Types: d.Types, Batch: d.Batch, Concurrency: d.Concurrency}, http.StatusOK)
	})
}

// rotate gives a subscription another secret, once.
func (c *churn) rotate(ctx context.Context, name string) error {
	secret := secretOf(name, 1)
	if err := c.receiver.trust(name, secret, history.Never); err != nil {
		return err
	}
	err := c.acknowledge(ctx, name, c.definitions[name], func() (outcome, error) {
		return c.ask(ctx, http.MethodPatch, name, map[string]string{"secret": secret}, http.StatusOK)
	})
	if err == nil {
		c.receiver.rotated(name, c.history.Now())
	}
	return err
}

func (c *churn) delete(ctx context.Context, name string) error {
	return c.acknowledge(ctx, name, nil, func() (outcome, error) {
		done, err := c.ask(ctx, http.MethodDelete, name, nil, http.StatusNoContent, http.StatusNotFound)
		return min(done, found), err // 404: by an attempt before
	})
}

// ErrGone ends a run: nothing more can be said of that subscription.
var ErrGone = errors.New("a subscription that was acknowledged is gone")

// ask makes one request about a subscription. The answer must have one of the statuses.
func (c *churn) ask(ctx context.Context, method, name string, body any, due ...int) (outcome, error) {
	status, answer, err := c.send(ctx, method, "/v1/subscriptions/"+c.ids[name], body)
	_, unanswered := err.(broken)
	switch {
	case unanswered || err == nil && later(status):
		return unknown, nil
	case err == nil && status == http.StatusNotFound && !slices.Contains(due, status):
		return unknown, fmt.Errorf("%w: %s %s: %.300s", ErrGone, method, name, answer)
	case err == nil && !slices.Contains(due, status):
		return unknown, fmt.Errorf("%s %s: %d %.300s", method, name, status, answer)
	}
	return made, err
}

// acknowledge tries until a change is made, and writes it down whatever becomes of it.
func (c *churn) acknowledge(ctx context.Context, name string, d *history.Definition, try func() (outcome, error)) error {
	change := history.Change{Subscription: name, Definition: d, Began: c.history.Now(), Acked: history.Never}
	defer func() { c.history.Changed(change) }()
	for range attempts {
		tried := c.history.Now()
		done, err := try()
		if err != nil {
			return err
		}
		if done == made {
			change.Durable = tried
		}
		if done != unknown {
			change.Acked = c.history.Now()
			c.definitions[name] = d
			return nil
		}
		if err := pause(ctx, time.Duration(5+c.random.IntN(20))*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("a change of %s was not acknowledged in %d attempts", name, attempts)
}

func (c *churn) send(ctx context.Context, method, path string, body any) (int, []byte, error) {
	if body == nil {
		return c.client.do(ctx, method, path, "", "")
	}
	text, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	return c.client.do(ctx, method, path, one, string(text))
}

// secretOf makes a secret: 32 bytes, the same for the same name and number.
func secretOf(name string, number int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", name, number))
	return "whsec_" + base64.StdEncoding.EncodeToString(sum[:])
}
