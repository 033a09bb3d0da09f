package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"dyno/services/orders/order"

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

type answered struct {
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

// answer answers with an account's order. An order of another account is answered like a missing
// one.
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
func (s *server) find(ctx *fasthttp.RequestCtx, uid int64) (o answered, err error) {
	var side, status int16
	var price, qty, filled int64
	var updated time.Time
	err = s.pool.QueryRow(ctx, query, uid).Scan(&o.UID, &o.Account, &o.Symbol, &side, &price, &qty, &filled, &status, &o.Version, &updated)
	o.Side, o.Status = order.Side(side).String(), order.Status(status).String()
	o.Price, o.Qty, o.Filled = order.Decimal(price).String(), order.Decimal(qty).String(), order.Decimal(filled).String()
	o.UpdatedAt = updated.UTC().Format("2006-01-02T15:04:05.000000Z")
	return o, err
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
