package auth

import (
	"slices"
	"strings"
	"testing"

	"dyno/services/orders/order"
)

// FuzzVerify: nothing panics, and nothing is accepted but the very tokens that were signed here.
func FuzzVerify(f *testing.F) {
	var good []string
	for _, header := range []string{hsHeader, rsHeader, edHeader} {
		good = append(good, signed(header, goodClaims("")))
		f.Add("Bearer " + good[len(good)-1])
	}
	for _, a := range attacks() {
		f.Add(a.header)
	}
	var verifiers []*Verifier
	for _, cache := range caches {
		verifiers = append(verifiers, opened(f, allKeys(), Config{Cache: cache}))
	}
	f.Fuzz(func(t *testing.T, header string) {
		for _, v := range verifiers {
			account, err := v.Verify(header, noon)
			if err != nil {
				if r, ok := err.(*Rejection); !ok || r == nil || account != "" {
					t.Fatalf("%q: %q, %v", header, account, err)
				}
				continue
			}
			words := strings.Fields(header)
			if account != "A1" || len(words) != 2 || !slices.Contains(good, words[1]) {
				t.Fatalf("accepted %q for %q", header, account)
			}
		}
	})
}

// FuzzClaims: whatever is signed, what is accepted is an account, and the account that was signed.
func FuzzClaims(f *testing.F) {
	f.Add(hsHeader, goodClaims(""))
	f.Add(edHeader, `{"sub":"A2","exp":1e300}`)
	f.Add(`{"alg":"HS256","kid":"hs","b64":false,"crit":["b64"]}`, `{"sub":"A1","sub":"A2","exp":2000000000,"aud":["x",{}]}`)
	v := opened(f, allKeys(), Config{Cache: "digest", Audience: "x"})
	f.Fuzz(func(t *testing.T, header, claims string) {
		token := signed(header, claims)
		account, err := v.Verify("Bearer "+token, noon)
		if err == nil && (!order.ValidAccount(account) || !strings.Contains(header, "hs") && !strings.Contains(header, "ed") && !strings.Contains(header, "rs")) {
			t.Fatalf("accepted %q, %q for %q", header, claims, account)
		}
		again, errAgain := v.Verify("Bearer "+token, noon)
		if again != account || errAgain != err {
			t.Fatalf("%q, %v and then %q, %v", account, err, again, errAgain)
		}
	})
}
