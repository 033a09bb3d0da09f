package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"dyno/parts/assembly"
	"dyno/services/orders/auth"
	"dyno/services/orders/message"
	"dyno/services/orders/message/messagetest"
	domain "dyno/services/orders/order"
	"dyno/services/orders/pgtest"
	"dyno/services/orders/store"
)

// What ordersd takes, the plain program takes for the same order. It may take more: it looks at
// fewer fields.
func FuzzJSON(f *testing.F) {
	f.Add(messagetest.Sample(domain.JSON, "id-1", "A1"))
	f.Add(messagetest.Sample(domain.JSON, "id-1", ""))
	f.Add([]byte(`{"client_order_id":"a","symbol":"B","side":"SELL","order_type":"MARKET","qty":1.50}`))
	f.Add([]byte(`{"client_order_id":"a","symbol":"B","side":"SELL","price":"\u0031","qty":"0.00000001"} `))
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) > maxMessage {
			return
		}
		got, err := readJSON(body)
		if err == nil {
			err = got.check()
		}
		want, refused := message.Parse("application/json", body)
		if refused != nil {
			return
		}
		if err != nil {
			t.Fatalf("%v", err)
		}
		if got.Account != want.Account || got.ClientOrderID != want.ClientOrderID || got.Symbol != want.Symbol || got.Side != side(want.Side) ||
			got.Price != decimal(want.Price) || got.Qty != decimal(want.Qty) || want.Kind != auditJSON {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
}

// The plain program and ordersd serve one database: what was submitted to the one is a duplicate to
// the other.
func TestSharesDatabase(t *testing.T) {
	ctx := context.Background()
	dsn := pgtest.Database(t)
	o := assembly.Defaults[store.Options]()
	o.DSNs, o.Driver, o.Lookup, o.Log = []string{dsn}, "pgxpool", "batch", slog.New(slog.DiscardHandler)
	theirs, err := store.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	c := defaults
	c.dsn, c.keys = dsn, filepath.Join(t.TempDir(), "keys.json")
	if err := auth.Create(c.keys); err != nil {
		t.Fatal(err)
	}
	s, err := newServer(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	token := issue(t, s.keys.set.Keys[0], "A1")
	const contentType = "application/json"
	both, mine := messagetest.Sample(domain.JSON, "both", "A1"), messagetest.Sample(domain.JSON, "mine", "A1")
	m, err := message.Parse(contentType, both)
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := theirs.Submit(ctx, "A1", &m)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		UID       int64
		Duplicate bool
	}
	if status := post(t, s, token, contentType, both, &got); status != http.StatusOK || got.UID != receipt.Order.UID || !got.Duplicate {
		t.Errorf("first to ordersd: %d %+v, want order %d", status, got, receipt.Order.UID)
	}
	if status := post(t, s, token, contentType, mine, &got); status != http.StatusCreated {
		t.Errorf("%d", status)
	}
	if m, err = message.Parse(contentType, mine); err != nil {
		t.Fatal(err)
	}
	if receipt, err = theirs.Submit(ctx, "A1", &m); err != nil || !receipt.Duplicate || receipt.Order.UID != got.UID {
		t.Errorf("first to the plain program: %+v, %v; want order %d", receipt, err, got.UID)
	}
}

func issue(t *testing.T, key jose.JSONWebKey, account string) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key.Key}, new(jose.SignerOptions).WithHeader("kid", key.KeyID))
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(jwt.Claims{Subject: account, Expiry: jwt.NewNumericDate(time.Now().Add(time.Hour))}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func post(t *testing.T, s *server, token, contentType string, body []byte, answer any) (status int) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/api/v1/submit", strings.NewReader(string(body)))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	s.web().Handler.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), answer); err != nil {
		t.Fatal(err)
	}
	return w.Code
}
