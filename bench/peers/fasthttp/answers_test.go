package main

import (
	"encoding/json"
	"testing"

	"dyno/services/orders/database"
	"dyno/services/orders/pgtest"

	"github.com/valyala/fasthttp"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// An order is answered with ordersd's fields; one of another account is answered like a missing
// one.
func TestAnswers(t *testing.T) {
	dsn := pgtest.Database(t)
	if err := database.Migrate(t.Context(), dsn, 0, 1); err != nil {
		t.Fatal(err)
	}
	if err := database.Seed(t.Context(), dsn, 20, 2, nil); err != nil {
		t.Fatal(err)
	}
	pool, err := config{dsn: dsn, connections: 2}.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	s := server{pool: pool}
	ask := func(uid int64, account string) (status int, answer map[string]any) {
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, nil, nil)
		s.answer(&ctx, uid, account)
		if err := json.Unmarshal(ctx.Response.Body(), &answer); err != nil {
			t.Fatal(err)
		}
		return ctx.Response.StatusCode(), answer
	}
	status, answer := ask(1, "A1")
	for _, field := range []string{"symbol", "side", "price", "qty", "filled", "status", "version", "updated_at"} {
		if answer[field] == nil || answer[field] == "UNKNOWN" {
			t.Errorf("%s is %v", field, answer[field])
		}
	}
	if status != 200 || answer["uid"] != 1.0 || answer["account"] != "A1" || len(answer) != 10 {
		t.Errorf("%d: %v", status, answer)
	}
	for _, c := range []struct {
		uid     int64
		account string
	}{{1, "A2"}, {21, "A1"}} {
		if status, answer := ask(c.uid, c.account); status != 404 || answer["error"] != "no such order" {
			t.Errorf("order %d for %s: %d, %v", c.uid, c.account, status, answer)
		}
	}
}
