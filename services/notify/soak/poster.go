package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"dyno/services/notify/soak/history"
)

// The load: two posters of single notices and two of batches, some hundred notices a second
// together, over keys that all of them use.
const (
	posters   = 4
	keys      = 200
	maxBatch  = 30
	burstSize = 300 // notices, asked for shortly before a crash
)

// Types of notices, and what subscriptions want of them.
var types = []string{"order.paid", "order.sent.express", "alert"}

// poster posts notices until each is acknowledged.
type poster struct {
	*run
	number int
	count  int
	random *rand.Rand
	recent []history.Notice // acknowledged, posted alone
}

func newPoster(r *run, number int) *poster {
	return &poster{run: r, number: number, random: rand.New(rand.NewPCG(r.Seed, uint64(2+number)))}
}

// work posts until stop is closed.
func (p *poster) work(ctx context.Context, stop <-chan struct{}) error {
	batches := p.number%2 == 1
	for {
		var notices []history.Notice
		select {
		case <-stop:
			if len(p.recent) == 0 {
				return nil
			}
			return p.post(ctx, p.recent[:1]) // once more, what an earlier process acknowledged
		case <-p.wanted(batches):
			notices = p.make(burstSize)
		case <-time.After(time.Duration(p.random.Int64N(int64(20 * time.Millisecond)))):
			switch {
			case batches:
				notices = p.make(2 + p.random.IntN(maxBatch-1))
				if err := pause(ctx, 50*time.Millisecond); err != nil {
					return err
				}
			case len(p.recent) > 0 && p.random.IntN(8) == 0: // once more, as a client does that lost its notes
				notices = []history.Notice{p.recent[p.random.IntN(len(p.recent))]}
			default:
				notices = p.make(1)
			}
		}
		if err := p.post(ctx, notices); err != nil {
			return err
		}
		if len(notices) == 1 {
			p.recent = append(p.recent[max(0, len(p.recent)-50):], notices[0])
		}
	}
}

// wanted returns the channel that asks for bursts, to those who send batches.
func (p *poster) wanted(batches bool) <-chan struct{} {
	if batches {
		return p.bursts
	}
	return nil
}

// make invents notices.
func (p *poster) make(n int) []history.Notice {
	out := make([]history.Notice, n)
	for i := range out {
		p.count++
		id := fmt.Sprintf("p%d-%06d", p.number, p.count)
		if p.random.IntN(500) == 0 {
			id += poison
		}
		out[i] = history.Notice{ID: id, Key: fmt.Sprintf("key-%d", p.random.IntN(keys)), Type: types[p.random.IntN(len(types))]}
	}
	return out
}

// poison ends the ids of notices that a receiver which fails never takes.
const poison = "-poison"

func poisonous(id string) bool { return strings.HasSuffix(id, poison) }

// post posts notices together, as often as it takes.
func (p *poster) post(ctx context.Context, notices []history.Notice) error {
	contentType, body := one, encode(notices[0])
	if len(notices) > 1 {
		contentType = batch
		for _, n := range notices[1:] {
			body += "\n" + encode(n)
		}
	}
	for range attempts {
		h := history.Post{Notices: notices, Began: p.history.Now(), Answered: history.Never}
		status, answer, err := p.client.do(ctx, http.MethodPost, "/v1/notices", contentType, body)
		acknowledged := status == http.StatusAccepted || status == http.StatusOK
		if err == nil && acknowledged {
			h.Results, err = results(notices, answer)
			h.Answered = p.history.Now()
		}
		p.history.Posted(h)
		_, unanswered := err.(broken)
		switch {
		case err == nil && acknowledged:
			return nil
		case err != nil && !unanswered:
			return err
		case err == nil && !later(status):
			return fmt.Errorf("POST /v1/notices: %d %.300s", status, answer)
		}
		if err := pause(ctx, time.Duration(10+p.random.IntN(90))*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s was not acknowledged in %d attempts", notices[0].ID, attempts)
}

// results reads an answer that acknowledges.
func results(notices []history.Notice, answer []byte) ([]history.Result, error) {
	type line struct {
		ID        string
		Seq       uint64
		Duplicate bool
	}
	var out struct {
		line
		Notices []line
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		return nil, fmt.Errorf("the answer %.300q: %w", answer, err)
	}
	lines := out.Notices
	if len(notices) == 1 && lines == nil {
		lines = []line{out.line}
	}
	var results []history.Result
	for i, l := range lines {
		if i < len(notices) && l.ID != notices[i].ID || l.Seq == 0 {
			return nil, fmt.Errorf("the answer's line %d names %s with number %d", i+1, l.ID, l.Seq)
		}
		results = append(results, history.Result{Seq: l.Seq, Duplicate: l.Duplicate})
	}
	return results, nil
}

func encode(n history.Notice) string {
	return fmt.Sprintf(`{"id":%q,"key":%q,"type":%q,"payload":%s}`, n.ID, n.Key, n.Type, payload(n.ID))
}

// payload is what the notice of an id carries: up to 1,000 bytes.
func payload(id string) string {
	h := fnv.New32a()
	h.Write([]byte(id))
	return fmt.Sprintf(`{"of":%q,"text":%q}`, id, strings.Repeat("x", int(h.Sum32()%1000)))
}
