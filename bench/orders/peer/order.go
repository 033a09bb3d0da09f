package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/valyala/fasthttp"
)

// server answers order queries.
type server struct {
	pool *pgxpool.Pool
	keys *jose.JSONWebKeySet
}

// order is the answer.
type order struct {
	UID       int64  `json:"uid"`
	Account   string `json:"account"`
	Symbol    string `json:"symbol"`
	Side      string `json:"side"`
	Price     string `json:"price"`
	Qty       string `json:"qty"`
	Filled    string `json:"filled"`
	Status    string `json:"status"`
	Version   int64  `json:"version"`
	UpdatedAt string `json:"updated_at"`
}

// What the numbers of the database are called.
var (
	sides    = []string{"", "BUY", "SELL", "PAY"}
	statuses = []string{"", "NEW", "PARTIALLY_FILLED", "FILLED", "CANCELLED"}
)

func (s *server) handle(ctx *fasthttp.RequestCtx) {
	if string(ctx.Path()) != "/api/v1/order" {
		refuse(ctx, fasthttp.StatusNotFound, "no such path")
		return
	}
	if !ctx.IsGet() {
		ctx.Response.Header.Set("Allow", "GET")
		refuse(ctx, fasthttp.StatusMethodNotAllowed, "use GET")
		return
	}
	token, ok := strings.CutPrefix(string(ctx.Request.Header.Peek("Authorization")), "Bearer ")
	if !ok {
		ctx.Response.Header.Set("WWW-Authenticate", "Bearer")
		refuse(ctx, fasthttp.StatusUnauthorized, "send a token as Authorization: Bearer TOKEN")
		return
	}
	account, err := verify(s.keys, token, time.Now())
	if err != nil {
		ctx.Response.Header.Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		refuse(ctx, fasthttp.StatusUnauthorized, "the token is not valid")
		return
	}
	uid, err := strconv.ParseInt(string(ctx.QueryArgs().Peek("uid")), 10, 64)
	if err != nil || uid < 1 {
		refuse(ctx, fasthttp.StatusBadRequest, "uid: give a whole number above 0")
		return
	}
	s.answer(ctx, uid, account)
}

// answer answers with an account's order. Somebody else's is answered like one that is not there.
func (s *server) answer(ctx *fasthttp.RequestCtx, uid int64, account string) {
	o, err := s.find(ctx, uid)
	switch {
	case errors.Is(err, pgx.ErrNoRows), err == nil && o.Account != account:
		refuse(ctx, fasthttp.StatusNotFound, "no such order")
	case err != nil:
		ctx.Response.Header.Set("Retry-After", "1")
		refuse(ctx, fasthttp.StatusServiceUnavailable, "the database does not answer")
	default:
		ctx.Response.Header.Set("ETag", fmt.Sprintf(`"%d-%d"`, o.UID, o.Version))
		write(ctx, fasthttp.StatusOK, o)
	}
}

const query = `SELECT uid, account, symbol, side, price, qty, filled, status, version, updated_at FROM orders WHERE uid = $1`

// find asks for one row.
func (s *server) find(ctx *fasthttp.RequestCtx, uid int64) (o order, err error) {
	var side, status int16
	var price, qty, filled int64
	var updated time.Time
	err = s.pool.QueryRow(ctx, query, uid).Scan(&o.UID, &o.Account, &o.Symbol, &side, &price, &qty, &filled, &status, &o.Version, &updated)
	if err != nil {
		return o, err
	}
	if int(side) >= len(sides) || int(status) >= len(statuses) || side < 0 || status < 0 {
		return o, fmt.Errorf("order %d has side %d and status %d, which have no names", uid, side, status)
	}
	o.Side, o.Status = sides[side], statuses[status]
	o.Price, o.Qty, o.Filled = decimal(price), decimal(qty), decimal(filled)
	o.UpdatedAt = updated.UTC().Format("2006-01-02T15:04:05.000000Z")
	return o, nil
}

// decimal writes units of 1e-8, of which none is negative.
func decimal(units int64) string {
	const one, digits = 100_000_000, 8
	whole, part := strconv.FormatInt(units/one, 10), units%one
	if part == 0 {
		return whole
	}
	fraction := strconv.FormatInt(part, 10)
	return whole + "." + strings.TrimRight(strings.Repeat("0", digits-len(fraction))+fraction, "0")
}

func write(ctx *fasthttp.RequestCtx, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = fasthttp.StatusInternalServerError, []byte(`{"error":"the answer cannot be written"}`)
	}
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/json")
	ctx.SetBody(body)
}

func refuse(ctx *fasthttp.RequestCtx, status int, text string) {
	write(ctx, status, map[string]string{"error": text})
}
