package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"dyno/services/orders/soak/history"
)

// sender submits orders over HTTP, each until it is acknowledged, and then reads it immediately.
type sender struct {
	*run
	client int
	random *rand.Rand
	reader *reader
	sent   []history.Key // the last acknowledged ones
	served time.Time
}

func newSender(r *run, client int) *sender {
	x := newReader(r, client)
	x.depth = 1
	return &sender{run: r, client: client, random: rand.New(rand.NewPCG(r.Seed, uint64(client))), reader: x, served: time.Now()}
}

// remembered is how many acknowledged submissions a sender may repeat.
const remembered = 64

func (s *sender) work(ctx context.Context) error {
	defer s.reader.hangUp()
	for !s.done() && ctx.Err() == nil {
		key, fresh := s.choose()
		var err error
		if s.random.IntN(8) > 0 {
			err = s.submit(ctx, key)
		} else {
			err = s.twice(ctx, key)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		if fresh {
			s.remember(key)
		}
		if err := pause(ctx, time.Duration(s.random.IntN(8))*time.Millisecond); err != nil {
			return nil
		}
	}
	return nil
}

// choose draws a submission: mostly a new order, as long as there are not too many.
func (s *sender) choose() (k history.Key, fresh bool) {
	most := int64(s.Reads/20 + 100) // the rows are in memory: the history's and perhaps the gateway's
	if len(s.sent) == 0 || s.random.IntN(8) > 0 && s.keys.Load() < int64(s.Rows)+most {
		return s.nextKey(), true
	}
	return s.sent[s.random.IntN(len(s.sent))], false
}

func (s *sender) remember(k history.Key) {
	if len(s.sent) == remembered {
		s.sent = s.sent[1:]
	}
	s.sent = append(s.sent, k)
}

// twice submits the same order with two concurrent requests.
func (s *sender) twice(ctx context.Context, k history.Key) error {
	var other sync.WaitGroup
	other.Go(func() { s.attempt(ctx, k) }) // the history records the result
	err := s.submit(ctx, k)
	other.Wait()
	return err
}

// submit submits until the order is acknowledged, then reads it.
func (s *sender) submit(ctx context.Context, k history.Key) error {
	for {
		began := time.Now()
		uid := s.attempt(ctx, k)
		if uid != 0 {
			s.served = time.Now()
			s.outage.served(s.client, began)
			s.readBack(k, uid)
			return nil
		}
		if s.StopAtFirst && !s.history.OK() {
			return nil
		}
		if time.Since(s.served) > timeout {
			return fmt.Errorf("no submission was acknowledged for %v", timeout)
		}
		if err := pause(ctx, time.Duration(2+k%8)*time.Millisecond); err != nil {
			return err
		}
	}
}

// readBack reads an order that was just acknowledged.
func (s *sender) readBack(k history.Key, uid int64) {
	answered, err := s.reader.ask(history.Ask{UID: uid, Account: k.Account(s.Accounts)})
	s.count(answered)
	if err != nil {
		s.broken.Add(1)
		s.reader.hangUp()
	}
}

// attempt submits once. It returns the order's uid; 0 means that it was not acknowledged.
func (s *sender) attempt(ctx context.Context, k history.Key) (uid int64) {
	account, row := k.Account(s.Accounts), k.Derive(1)
	body, err := json.Marshal(map[string]string{
		"client_order_id": s.clientOrderID(k), "account": account, "symbol": row.Symbol, "side": row.Side,
		"price": formatDecimal(row.Price), "qty": formatDecimal(row.Qty),
	})
	if err != nil {
		return 0
	}
	begun := s.history.Submit(k, account)
	status, answer, err := s.call(ctx, http.MethodPost, "/api/v1/submit", account, body)
	if err != nil {
		s.broken.Add(1)
		return 0
	}
	var got struct {
		UID           int64
		ClientOrderID string `json:"client_order_id"`
		Status        string
		Version       int64
		Duplicate     bool
	}
	switch status {
	case http.StatusServiceUnavailable:
		s.history.Unavailable()
		return 0
	case http.StatusCreated, http.StatusOK:
	default:
		s.history.Break(history.Unexpected, "submission %d is answered with status %d: %.300q", k, status, answer)
		return 0
	}
	err = json.Unmarshal(answer, &got)
	if err != nil || got.ClientOrderID != s.clientOrderID(k) || got.Duplicate != (status == http.StatusOK) {
		s.history.Break(history.Garbled, "submission %s is answered with status %d: %.300q", s.clientOrderID(k), status, answer)
		return 0
	}
	s.history.Acknowledged(begun, history.Receipt{UID: got.UID, Version: got.Version, Status: got.Status, Duplicate: got.Duplicate})
	return got.UID
}

const maxAnswer = 1 << 20 // bytes; 500 orders take about 120 KB

// call sends one request.
func (r *run) call(ctx context.Context, method, path, account string, body []byte) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+r.address+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+r.tokens[account])
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, answer, err
}
