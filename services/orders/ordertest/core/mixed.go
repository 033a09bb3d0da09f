package core

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"

	"dyno/services/orders/ordertest"
)

// neverForeign: many connections, each with the requests of many accounts, several sent together:
// every answer is the one to its request. Memory that a program uses again, or batches that it
// takes apart wrongly, show here.
func neverForeign(c *ordertest.Client) {
	const accounts, orders, connections, rounds, together = 5, 8, 8, 25, 16
	m := mix{c: c}
	for i := range accounts {
		name := c.Account(i)
		for _, uid := range c.Insert(name, orders) {
			m.rows = append(m.rows, owned{name, uid})
		}
		m.names, m.tokens = append(m.names, name), append(m.tokens, c.Ring.Token(name))
	}
	var all sync.WaitGroup
	for i := range connections {
		w := c.Dial()
		random := rand.New(rand.NewPCG(1, uint64(i)))
		all.Go(func() {
			for range rounds {
				if err := m.round(w, random, together); err != nil {
					c.T.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// mix is what the connections ask for.
type mix struct {
	c             *ordertest.Client
	rows          []owned
	names, tokens []string
}

type owned struct {
	account string
	uid     int64
}

// expected is what an answer has to have.
type expected struct {
	status    int
	has, none string // in the body; none: must not be there
}

// round sends some requests together and reads their answers.
func (m *mix) round(w *ordertest.Wire, random *rand.Rand, n int) error {
	var text strings.Builder
	want := make([]expected, n)
	for i := range want {
		var one string
		one, want[i] = m.draw(random)
		text.WriteString(one)
	}
	if err := w.Write(text.String()); err != nil {
		return err
	}
	for i, e := range want {
		r, err := w.TryRead("")
		if err != nil {
			return fmt.Errorf("reading answer %d of %d: %w", i, n, err)
		}
		if body := string(r.Body); r.Status != e.status || !strings.Contains(body, e.has) || e.none != "" && strings.Contains(body, e.none) {
			return fmt.Errorf("answer %d of %d is %s, want %d with %s and without %s\nto %s", i, n, r, e.status, e.has, e.none, text.String())
		}
	}
	return nil
}

// draw makes up a request.
func (m *mix) draw(random *rand.Rand) (text string, e expected) {
	who := random.IntN(len(m.names))
	row := m.rows[random.IntN(len(m.rows))]
	path, token := ordertest.OrderPath(row.uid), m.tokens[who]
	switch random.IntN(map[bool]int{true: 8, false: 7}[m.c.Lists]) {
	case 0:
		path, e = ordertest.OrderPath(row.uid+1_000_000_000), expected{http.StatusNotFound, `"error"`, ""}
	case 1:
		path, e = "/api/v1/order?uid=none", expected{http.StatusBadRequest, `"field":"uid"`, ""}
	case 2:
		token, e = "forged", expected{http.StatusUnauthorized, `"error"`, row.account}
	case 7:
		path, e = "/api/v1/orders?limit=3", expected{http.StatusOK, `"account":"` + m.names[who] + `"`, `"account":"` + m.names[(who+1)%len(m.names)] + `"`}
	default:
		if e = (expected{http.StatusNotFound, `"error"`, row.account}); row.account == m.names[who] {
			e = expected{http.StatusOK, fmt.Sprintf(`{"uid":%d,"account":"%s",`, row.uid, row.account), ""}
		}
	}
	return "GET " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token + "\r\n\r\n", e
}
