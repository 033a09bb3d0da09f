package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"dyno/services/orders/auth"
	"dyno/services/orders/message"
	"dyno/services/orders/message/messagetest"
	domain "dyno/services/orders/order"
	"dyno/services/orders/postgres/pgtest"
	"dyno/services/orders/store"
)

var kinds = map[domain.Kind]string{domain.JSON: "application/json", domain.Pacs008: "application/xml", domain.FIX: "application/fix"}

// What ordersd takes, the plain program takes for the same order. It may take more: it looks at fewer fields.
func FuzzReaders(f *testing.F) {
	for kind := range kinds {
		f.Add(uint8(kind), messagetest.Sample(kind, "id-1", "A1"))
		f.Add(uint8(kind), messagetest.Sample(kind, "id-1", ""))
	}
	f.Add(uint8(domain.JSON), []byte(`{"client_order_id":"a","symbol":"B","side":"SELL","order_type":"MARKET","qty":1.50}`))
	f.Add(uint8(domain.JSON), []byte(`{"client_order_id":"a","symbol":"B","side":"SELL","price":"\u0031","qty":"0.00000001"} `))
	f.Fuzz(func(t *testing.T, kind uint8, body []byte) {
		contentType, ok := kinds[domain.Kind(kind)]
		if !ok || len(body) > maxMessage {
			return
		}
		got, err := readers[contentType](body)
		if err == nil {
			err = got.check()
		}
		want, refused := message.Parse(contentType, body)
		if refused != nil {
			return
		}
		if err != nil {
			t.Fatalf("%v", err)
		}
		same := submission{Account: want.Account, ClientOrderID: want.ClientOrderID, Symbol: want.Symbol, Side: side(want.Side),
			Price: decimal(want.Price), Qty: decimal(want.Qty), kind: int16(want.Kind), message: got.message}
		if got.Account != same.Account || got.ClientOrderID != same.ClientOrderID || got.Symbol != same.Symbol || got.Side != same.Side ||
			got.Price != same.Price || got.Qty != same.Qty || got.kind != same.kind {
			t.Fatalf("%+v, want %+v", got, same)
		}
	})
}

// The plain program and ordersd serve one database: what was submitted to the one is a duplicate to the other.
func TestSharesDatabase(t *testing.T) {
	ctx := context.Background()
	dsn := pgtest.Database(t)
	theirs, err := store.Open(ctx, store.Options{DSNs: []string{dsn}})
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
	for kind, contentType := range kinds {
		both, mine := messagetest.Sample(kind, "both-"+contentType, "A1"), messagetest.Sample(kind, "mine-"+contentType, "A1")
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
			t.Errorf("%s, first to ordersd: %d %+v, want order %d", contentType, status, got, receipt.Order.UID)
		}
		if status := post(t, s, token, contentType, mine, &got); status != http.StatusCreated {
			t.Errorf("%s: %d", contentType, status)
		}
		if m, err = message.Parse(contentType, mine); err != nil {
			t.Fatal(err)
		}
		if receipt, err = theirs.Submit(ctx, "A1", &m); err != nil || !receipt.Duplicate || receipt.Order.UID != got.UID {
			t.Errorf("%s, first to the plain program: %+v, %v; want order %d", contentType, receipt, err, got.UID)
		}
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
	s.handler().ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), answer); err != nil {
		t.Fatal(err)
	}
	return w.Code
}
