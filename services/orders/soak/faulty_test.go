package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/services/orders/database"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/singleflight"
)

// faulty is a simple gateway with a selectable fault, for testing the soak. A token is the account
// itself. No fault is a data race, so the race detector reports none.
type faulty struct {
	fault string
	pool  *pgxpool.Pool

	flights singleflight.Group
	late    sync.WaitGroup // for the fault "hurries"

	mu       sync.Mutex
	rows     map[int64]kept
	denied   map[int64]bool
	pages    map[string]keptPage
	shared   []byte          // for the fault "shares"
	free     []*faultyAnswer // for the fault "leftovers"
	submits  int
	accounts map[net.Conn]string // for the fault "connections": the first account
}

// The faults.
const (
	joins       = "joins a query that is under way" // singleflight
	keeps       = "keeps rows for 50 ms"
	denies      = "keeps what is not there"
	unchanged   = "answers 304 from memory"
	shares      = "shares one buffer"
	leftovers   = "uses answers again without clearing them"
	connections = "checks the account that the connection had first"
	words       = "denies in other words what is another's"
	apart       = "writes the audit in a transaction of its own"
	hurries     = "acknowledges before it has written"
	takesAgain  = "takes a submission for new twice"
	keepsPages  = "keeps pages for half a second"
	overlaps    = "lists the last of a page once more"
	forgets     = "lists not all"
	marks       = "marks answers stale unasked"
	leaks       = "forgets connections"
)

type kept struct {
	row   faultyAnswer
	until time.Time
}

type keptPage struct {
	page  faultyPage
	until time.Time
}

type faultyAnswer struct {
	UID     int64  `json:"uid"`
	Account string `json:"account"`
	Symbol  string `json:"symbol"`
	Side    string `json:"side"`
	Price   string `json:"price"`
	Qty     string `json:"qty"`
	Filled  string `json:"filled"`
	Status  string `json:"status"`
	Version int64  `json:"version"`
	Updated string `json:"updated_at"`
	Since   string `json:"stale_since,omitempty"`
}

type faultyPage struct {
	Orders []faultyAnswer `json:"orders"`
	Next   string         `json:"next,omitempty"`
}

const faultyConnections = 8

// newFaulty starts a faulty gateway on a database, and creates its schema. It ends with the test.
func newFaulty(t *testing.T, dsn, fault string) (url string) {
	t.Helper()
	if err := database.Migrate(t.Context(), dsn, 0, 1); err != nil {
		t.Fatal(err)
	}
	c, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	c.MaxConns = faultyConnections
	g := &faulty{fault: fault, rows: map[int64]kept{}, denied: map[int64]bool{}, pages: map[string]keptPage{}, accounts: map[net.Conn]string{}}
	if g.pool, err = pgxpool.NewWithConfig(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.pool.Close)
	t.Cleanup(g.late.Wait)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/order", g.order)
	mux.HandleFunc("GET /api/v1/orders", g.orders)
	mux.HandleFunc("POST /api/v1/submit", g.submit)
	server := httptest.NewUnstartedServer(mux)
	server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, c)
	}
	server.Start()
	t.Cleanup(server.Close)
	if fault == leaks {
		for range faultyConnections + 1 {
			conn, err := pgx.Connect(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close(context.Background()) })
		}
	}
	return server.URL
}

type connKey struct{}

const orderColumns = `uid, account, symbol, side, price, qty, filled, status, version, updated_at`

func scanOrder(rows pgx.CollectableRow) (a faultyAnswer, err error) {
	var side, status int16
	var price, qty, filled int64
	var updated time.Time
	err = rows.Scan(&a.UID, &a.Account, &a.Symbol, &side, &price, &qty, &filled, &status, &a.Version, &updated)
	a.Side, a.Status = name(sides, side), name(statuses, status)
	a.Price, a.Qty, a.Filled = formatDecimal(price), formatDecimal(qty), formatDecimal(filled)
	a.Updated = updated.UTC().Format(time.RFC3339Nano)
	return a, err
}

func (t *faulty) query(ctx context.Context, uid int64) (a faultyAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	rows, err := t.pool.Query(ctx, "SELECT "+orderColumns+" FROM orders WHERE uid = $1", uid)
	if err != nil {
		return a, err
	}
	return pgx.CollectExactlyOneRow(rows, scanOrder)
}

// find is query with the faults that are meant to save queries.
func (t *faulty) find(ctx context.Context, uid int64) (faultyAnswer, error) {
	switch t.fault {
	case joins:
		a, err, _ := t.flights.Do(strconv.FormatInt(uid, 10), func() (any, error) {
			a, err := t.query(context.WithoutCancel(ctx), uid)
			time.Sleep(2 * time.Millisecond) // an answer may take this long to arrive
			return a, err
		})
		return a.(faultyAnswer), err
	case keeps:
		t.mu.Lock()
		k := t.rows[uid]
		t.mu.Unlock()
		if time.Now().Before(k.until) {
			return k.row, nil
		}
	case denies:
		t.mu.Lock()
		denied := t.denied[uid]
		t.mu.Unlock()
		if denied {
			return faultyAnswer{}, pgx.ErrNoRows
		}
	}
	a, err := t.query(ctx, uid)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fault == denies && errors.Is(err, pgx.ErrNoRows) {
		t.denied[uid] = true
	}
	if err == nil && (t.fault == keeps || t.fault == unchanged) {
		t.rows[uid] = kept{a, time.Now().Add(50 * time.Millisecond)}
	}
	return a, err
}

func (t *faulty) order(w http.ResponseWriter, r *http.Request) {
	uid, _ := strconv.ParseInt(r.FormValue("uid"), 10, 64)
	if t.fault == unchanged && t.matches(uid, r.Header.Get("If-None-Match")) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	account := t.account(r)
	a, err := t.find(r.Context(), uid)
	if err == nil && a.Account != account {
		err = pgx.ErrNoRows
		if t.fault == words {
			err = fmt.Errorf("not yours: %w", err)
		}
	}
	least, _ := strconv.ParseInt(r.FormValue("min_version"), 10, 64)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		refuse(w, http.StatusNotFound, err)
		return
	case err != nil:
		refuse(w, http.StatusServiceUnavailable, err)
		return
	case a.Version < least:
		refuse(w, http.StatusConflict, errors.New("no such version yet"))
		return
	}
	tag := etag(a.UID, a.Version)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("ETag", tag)
	if t.fault == marks && uid%16 == 0 {
		w.Header().Set("Warning", `110 - "Response is Stale"`)
		a.Since = a.Updated
	}
	t.write(w, a)
}

func (t *faulty) matches(uid int64, tag string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, ok := t.rows[uid]
	return ok && tag == etag(uid, k.row.Version)
}

// account returns the caller's account.
func (t *faulty) account(r *http.Request) string {
	account := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if t.fault == connections {
		conn := r.Context().Value(connKey{}).(net.Conn)
		t.mu.Lock()
		defer t.mu.Unlock()
		if first, ok := t.accounts[conn]; ok {
			return first
		}
		t.accounts[conn] = account
	}
	return account
}

// write writes an answer with the faults that are meant to save memory.
func (t *faulty) write(w http.ResponseWriter, a faultyAnswer) {
	body, _ := json.Marshal(a)
	switch t.fault {
	case shares:
		t.mu.Lock()
		t.shared = append(t.shared[:0], body...)
		t.mu.Unlock()
		time.Sleep(time.Millisecond) // for other requests to arrive
		t.mu.Lock()
		body = bytes.Clone(t.shared)
		t.mu.Unlock()
	case leftovers:
		body = t.pooled(a)
	}
	w.Write(body)
}

// pooled reuses an answer and sets only its non-zero fields.
func (t *faulty) pooled(a faultyAnswer) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	into := new(faultyAnswer)
	if n := len(t.free); n > 0 {
		into, t.free = t.free[n-1], t.free[:n-1]
	}
	filled := into.Filled
	*into = a
	if a.Filled == "0" && filled != "" {
		into.Filled = filled
	}
	t.free = append(t.free, into)
	body, _ := json.Marshal(into)
	return body
}

func refuse(w http.ResponseWriter, status int, err error) {
	body, _ := json.Marshal(map[string]string{"error": err.Error()})
	if status == http.StatusServiceUnavailable {
		body = []byte(`{"error":"try again"}`)
	}
	w.WriteHeader(status)
	w.Write(body)
}

func (t *faulty) orders(w http.ResponseWriter, r *http.Request) {
	if t.fault == keepsPages {
		t.mu.Lock()
		k := t.pages[r.URL.RawQuery]
		t.mu.Unlock()
		if time.Now().Before(k.until) {
			json.NewEncoder(w).Encode(k.page)
			return
		}
	}
	page, err := t.list(r)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err)
		return
	}
	t.mu.Lock()
	t.pages[r.URL.RawQuery] = keptPage{page, time.Now().Add(500 * time.Millisecond)}
	t.mu.Unlock()
	json.NewEncoder(w).Encode(page)
}

func (t *faulty) list(r *http.Request) (p faultyPage, err error) {
	before, limit := int64(1<<62), 50
	if c := r.FormValue("cursor"); c != "" {
		before, _ = strconv.ParseInt(c, 10, 64)
	}
	limit, _ = strconv.Atoi(r.FormValue("limit"))
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	rows, err := t.pool.Query(ctx, "SELECT "+orderColumns+` FROM orders
		WHERE account = $1 AND uid < $2 AND ($3 = 0 OR status = $3) ORDER BY uid DESC LIMIT $4`,
		t.account(r), before, number(statuses, r.FormValue("status")), limit+1)
	if err != nil {
		return p, err
	}
	if p.Orders, err = pgx.CollectRows(rows, scanOrder); err != nil {
		return p, err
	}
	if len(p.Orders) > limit {
		p.Orders = p.Orders[:limit]
		next := p.Orders[limit-1].UID
		if t.fault == overlaps {
			next++
		}
		p.Next = strconv.FormatInt(next, 10)
	}
	if t.fault == forgets && len(p.Orders) > 2 {
		p.Orders = append(p.Orders[:1], p.Orders[2:]...)
	}
	return p, nil
}

type faultyReceipt struct {
	UID           int64  `json:"uid"`
	ClientOrderID string `json:"client_order_id"`
	Status        string `json:"status"`
	Version       int64  `json:"version"`
	Duplicate     bool   `json:"duplicate,omitempty"`
}

func (t *faulty) submit(w http.ResponseWriter, r *http.Request) {
	message, _ := io.ReadAll(r.Body)
	t.mu.Lock()
	t.submits++
	dies := t.submits%10 == 0 // the connection ends in the middle
	t.mu.Unlock()
	store := t.store
	if t.fault == hurries {
		store = t.storeLater
	}
	got, err := store(r.Context(), message, dies)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err)
		return
	}
	if t.fault == takesAgain {
		got.Duplicate = false
	}
	if !got.Duplicate {
		w.WriteHeader(http.StatusCreated)
	}
	json.NewEncoder(w).Encode(got)
}

const killed = "SELECT pg_terminate_backend(pg_backend_pid())"

func (t *faulty) store(ctx context.Context, message []byte, dies bool) (got faultyReceipt, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := t.pool.Acquire(ctx)
	if err != nil {
		return got, err
	}
	defer conn.Release()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return got, err
	}
	defer func() { tx.Rollback(ctx) }()
	got, account, err := insertOrder(ctx, tx, message)
	if err != nil || got.Duplicate {
		return got, err
	}
	if t.fault == apart {
		if err = tx.Commit(ctx); err != nil {
			return got, err
		}
		if tx, err = conn.Begin(ctx); err != nil {
			return got, err
		}
	}
	if dies {
		if _, err = tx.Exec(ctx, killed); err != nil {
			return got, err
		}
	}
	_, err = tx.Exec(ctx, `INSERT INTO audit (account, uid, kind, client_order_id, message) VALUES ($1, $2, 1, $3, $4)`,
		account, got.UID, got.ClientOrderID, message)
	if err != nil {
		return got, err
	}
	return got, tx.Commit(ctx)
}

// storeLater commits after the answer was sent.
func (t *faulty) storeLater(ctx context.Context, message []byte, _ bool) (got faultyReceipt, err error) {
	ctx = context.WithoutCancel(ctx)
	tx, err := t.pool.Begin(ctx)
	if err != nil {
		return got, err
	}
	if got, _, err = insertOrder(ctx, tx, message); err != nil {
		return got, errors.Join(err, tx.Rollback(ctx))
	}
	t.late.Go(func() {
		time.Sleep(20 * time.Millisecond)
		tx.Commit(ctx)
	})
	return got, nil
}

// insertOrder inserts the order of a message, or finds it.
func insertOrder(ctx context.Context, tx pgx.Tx, message []byte) (got faultyReceipt, account string, err error) {
	var in map[string]string
	if err := json.Unmarshal(message, &in); err != nil {
		return got, "", err
	}
	price, _ := parseDecimal(in["price"])
	qty, _ := parseDecimal(in["qty"])
	got.ClientOrderID = in["client_order_id"]
	var status int16
	err = tx.QueryRow(ctx, `INSERT INTO orders (account, client_order_id, symbol, side, price, qty, digest)
		VALUES ($1, $2, $3, $4, $5, $6, sha256('')) ON CONFLICT DO NOTHING RETURNING uid, status, version`,
		in["account"], got.ClientOrderID, in["symbol"], number(sides, in["side"]), price, qty).Scan(&got.UID, &status, &got.Version)
	if errors.Is(err, pgx.ErrNoRows) {
		got.Duplicate = true
		err = tx.QueryRow(ctx, `SELECT uid, status, version FROM orders WHERE account = $1 AND client_order_id = $2`,
			in["account"], got.ClientOrderID).Scan(&got.UID, &status, &got.Version)
	}
	got.Status = name(statuses, status)
	return got, in["account"], err
}
