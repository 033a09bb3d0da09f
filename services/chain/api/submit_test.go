package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/node"
)

// taken is a pool that keeps what is submitted, and refuses what is shorter than 3 bytes.
type taken struct {
	ReadOnly
	raws [][]byte
}

func (p *taken) Submit(_ context.Context, raws [][]byte) (out []node.Submitted) {
	for _, raw := range raws {
		switch {
		case len(raw) == 2:
			out = append(out, node.Submitted{Err: errors.New("too short")})
		case len(raw) < 3:
			out = append(out, node.Submitted{Err: node.ErrOverloaded})
		default:
			p.raws = append(p.raws, raw)
			out = append(out, node.Submitted{Hash: crypto.Keccak256Hash(raw)})
		}
	}
	return out
}

// transfers are a legacy and a typed transaction in their canonical form.
func transfers(t testing.TB) (raws [][]byte) {
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	signer := types.LatestSignerForChainID(common.Big1)
	for _, tx := range []types.TxData{
		&types.LegacyTx{GasPrice: common.Big1, Gas: 21000, To: &common.Address{}, Data: make([]byte, 300)},
		&types.DynamicFeeTx{ChainID: common.Big1, GasFeeCap: common.Big1, Gas: 21000, To: &common.Address{}},
	} {
		raw, err := types.MustSignNewTx(key, signer, tx).MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		raws = append(raws, raw)
	}
	return raws
}

func TestSubmit(t *testing.T) {
	raws := transfers(t)
	for name, c := range map[string]struct {
		body   []byte
		status int
		taken  int
		says   string
	}{
		"one":              {raws[1], 200, 1, `"refused":[]`},
		"a legacy one":     {raws[0], 200, 1, `"refused":[]`},
		"several":          {bytes.Join([][]byte{raws[1], raws[0], raws[0], raws[1]}, nil), 200, 4, `"refused":[]`},
		"with refused":     {bytes.Join([][]byte{raws[1], {2, 0xc0}, raws[0], {0xc0}}, nil), 200, 2, `"refused":[{"index":1,"code":-32000,"message":"too short"},{"index":3,"code":-32005,"message":"the node is overloaded: `},
		"none behind":      {append(bytes.Clone(raws[0]), 0x83, 1, 2), 200, 1, `"refused":[{"index":1,"code":-32000,"message":"the rest of the body is not read`},
		"very many":        {bytes.Repeat([]byte{0xc0}, 1_000_000), 200, 0, `{"index":10000,"code":-32000,"message":"the rest of the body is not read: a body has at most 10000 transactions"}`},
		"cut off":          {raws[0][:40], 200, 0, `"accepted":[],"refused":[{"index":0`},
		"a type alone":     {[]byte{2}, 200, 0, `"accepted":[],"refused":[{"index":0`},
		"nothing":          {nil, 400, 0, "empty"},
		"more than 5 MB":   {make([]byte, 5_000_001), 413, 0, "5,000,000"},
		"hexadecimal text": {[]byte("0x02f8"), 200, 0, `"accepted":[],"refused":[{"index":0`},
	} {
		p, answer := &taken{}, httptest.NewRecorder()
		Submit(p).ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/submit", bytes.NewReader(c.body)))
		if answer.Code != c.status || len(p.raws) != c.taken || !strings.Contains(answer.Body.String(), c.says) {
			t.Errorf("%s: %d, %d taken, %s", name, answer.Code, len(p.raws), answer.Body)
		}
		for _, raw := range p.raws {
			if !bytes.Equal(raw, raws[0]) && !bytes.Equal(raw, raws[1]) {
				t.Errorf("%s: another transaction: %x", name, raw)
			}
		}
	}
	answer := httptest.NewRecorder()
	if Submit(&taken{}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/submit", nil)); answer.Code != http.StatusMethodNotAllowed {
		t.Errorf("a GET: %d", answer.Code)
	}
}

func FuzzSplit(f *testing.F) {
	raws := transfers(f)
	f.Add(bytes.Join(raws, nil))
	f.Add([]byte{2, 0xf9, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, body []byte) {
		raws, err := split(body)
		whole := bytes.Join(raws, nil)
		if !bytes.HasPrefix(body, whole) || err == nil && len(whole) != len(body) {
			t.Errorf("%x is split into %x, %v", body, raws, err)
		}
	})
}

// A read of what is pending that is refused is not about a transaction.
func TestRefusedRead(t *testing.T) {
	e := Refusal(fmt.Errorf("reading: %w", node.ErrPending))
	if e.Code != jsonrpc.LimitExceeded || !strings.Contains(e.Message, "256 others wait") || strings.Contains(e.Message, "transaction") {
		t.Errorf("%d %s", e.Code, e.Message)
	}
}
