package auth

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

var caches = []string{"none", "digest"}

// What is signed is accepted, by each kind of key, also the second time.
func TestAccepts(t *testing.T) {
	at := func(format string) string { return fmt.Sprintf(format, noon.Unix()+1) }
	long := strings.Repeat("a", 64)
	for _, cache := range caches {
		v := opened(t, allKeys(), Config{Cache: cache})
		for _, c := range []struct{ name, header, account string }{
			{"HS256", "Bearer " + signed(hsHeader, goodClaims("")), "A1"},
			{"RS256", "Bearer " + signed(rsHeader, goodClaims("")), "A1"},
			{"EdDSA", "Bearer " + signed(edHeader, goodClaims("")), "A1"},
			{"the scheme in small letters", "bearer " + signed(hsHeader, goodClaims("")), "A1"},
			{"the scheme in capitals, more spaces", "  BEARER   " + signed(hsHeader, goodClaims("")) + "  ", "A1"},
			{"every character of an account", "Bearer " + signed(hsHeader, at(`{"sub":"aZ09._:-","exp":%d}`)), "aZ09._:-"},
			{"the longest account", "Bearer " + signed(hsHeader, at(`{"sub":"`+long+`","exp":%d}`)), long},
			{"exp with a fraction", "Bearer " + signed(hsHeader, at(`{"sub":"A1","exp":%d.75}`)), "A1"},
			{"exp with an exponent", "Bearer " + signed(hsHeader, `{"sub":"A1","exp":1.9000001e9}`), "A1"},
			{"exp in a very long time", "Bearer " + signed(hsHeader, `{"sub":"A1","exp":4000000000000000000}`), "A1"},
			{"exp beyond all time", "Bearer " + signed(hsHeader, `{"sub":"A1","exp":1e19}`), "A1"},
			{"exp beyond all numbers", "Bearer " + signed(hsHeader, `{"sub":"A1","exp":1e999}`), "A1"},
			{"exp of more digits than an int has", "Bearer " + signed(hsHeader, `{"sub":"A1","exp":700000000000000000007}`), "A1"},
			{"iat that is no date", "Bearer " + signed(hsHeader, goodClaims(`,"iat":"noon"`)), "A1"},
			{"nbf now", "Bearer " + signed(hsHeader, at(`{"sub":"A1","exp":%d,"nbf":1900000000}`)), "A1"},
			{"crit null, which asks for nothing", "Bearer " + signed(`{"alg":"HS256","kid":"hs","crit":null}`, goodClaims("")), "A1"},
			{"iat in the future", "Bearer " + signed(hsHeader, goodClaims(`,"iat":1900001000`)), "A1"},
			{"claims that mean nothing here", "Bearer " + signed(hsHeader, goodClaims(`,"admin":true,"SUB":"A2","Exp":1,"aud":["x"],"iss":"y"`)), "A1"},
			{"keys elsewhere, which are left alone", "Bearer " + signed(`{"alg":"HS256","kid":"hs","jku":"http://127.0.0.1:1/","x5u":"http://127.0.0.1:1/"}`, goodClaims("")), "A1"},
		} {
			for _, time := range []string{"first", "second"} {
				account, err := v.Verify(c.header, noon)
				if account != c.account || err != nil {
					t.Errorf("cache %s: %s, the %s time: %q, %v", cache, c.name, time, account, err)
				}
			}
		}
		if s := v.Stats(); s.Rejected != 0 || s.Verified+s.Hits != 38 || (s.Hits > 0) != (cache == "digest") {
			t.Errorf("cache %s: %+v", cache, s)
		}
	}
}

// attack is a header that must not be let in, and what is said.
type attack struct {
	name, header string
	want         *Rejection
}

func attacks() []attack {
	good := signed(hsHeader, goodClaims(""))
	parts := strings.Split(good, ".")
	bearer := func(token string) string { return "Bearer " + token }
	with := func(header, claims string) string { return bearer(signed(header, claims)) }
	claims := func(text string) string { return with(hsHeader, text) }
	exp := fmt.Sprintf(`"exp":%d`, noon.Unix()+60)
	all := []attack{
		{"nothing", "", errMissing},
		{"the scheme alone", "Bearer", errMissing},
		{"the scheme and spaces", "Bearer    ", errMissing},
		{"another scheme", "Basic " + good, errMissing},
		{"no scheme", good, errMissing},
		{"no space", "Bearer" + good, errMissing},
		{"a tab for a space", "Bearer\t" + good, errMissing},
		{"two tokens", bearer(good + " " + good), errMalformed},
		{"two tokens with a comma", bearer(good + ", Bearer " + good), errMalformed},
		{"a quoted token", bearer(`"` + good + `"`), errMalformed},

		{"one part", bearer(parts[0]), errMalformed},
		{"two parts", bearer(parts[0] + "." + parts[1]), errMalformed},
		{"four parts", bearer(good + "." + parts[2]), errMalformed},
		{"five parts, as an encrypted one", bearer(good + "." + parts[1] + "." + parts[2]), errMalformed},
		{"dots alone", bearer(".."), errMalformed},
		{"no header", bearer("." + parts[1] + "." + parts[2]), errMalformed},
		{"no claims", bearer(parts[0] + ".." + parts[2]), errMalformed},
		{"no signature", bearer(parts[0] + "." + parts[1] + "."), errMalformed},
		{"a line break", bearer(good[:20] + "\n" + good[20:]), errMalformed},
		{"padding", bearer(good + "="), errMalformed},
		{"the other base64", bearer(parts[0] + "." + parts[1] + ".ab+/"), errMalformed},
		{"JSON serialisation", bearer(fmt.Sprintf(`{"protected":%q,"payload":%q,"signature":%q}`, parts[0], parts[1], parts[2])), errMalformed},
		{"JSON serialisation, several signatures", bearer(fmt.Sprintf(`{"payload":%q,"signatures":[{"protected":%q,"signature":%q}]}`, parts[1], parts[0], parts[2])), errMalformed},
		{"too long", bearer(signed(hsHeader, goodClaims(`,"x":"`+strings.Repeat("x", maxToken)+`"`))), errTooLong},
		{"not JSON", bearer(signed("{", goodClaims(""))), errHeader},
		{"a header that is null", with("null", goodClaims("")), errHeader},
		{"an embedded private key", with(`{"alg":"HS256","kid":"hs","jwk":`+octKey("hs", made().secret)+`}`, goodClaims("")), errHeader},

		{"no alg", with(`{"kid":"hs"}`, goodClaims("")), errAlgorithm},
		{"two algs", with(`{"alg":"none","alg":"HS256","kid":"hs"}`, goodClaims("")), errHeader},
		{"alg in the wrong case", with(`{"alg":"hs256","kid":"hs"}`, goodClaims("")), errAlgorithm},
		{"another HMAC", with(`{"alg":"HS384","kid":"hs"}`, goodClaims("")), errAlgorithm},
		{"another padding", with(`{"alg":"PS256","kid":"rs"}`, goodClaims("")), errAlgorithm},
		{"HS256 with the RSA key", with(`{"alg":"HS256","kid":"rs"}`, goodClaims("")), errAlgorithm},
		{"RS256 with the secret", with(`{"alg":"RS256","kid":"hs"}`, goodClaims("")), errAlgorithm},
		{"EdDSA with the RSA key", with(`{"alg":"EdDSA","kid":"rs"}`, goodClaims("")), errAlgorithm},

		{"no kid", with(`{"alg":"HS256"}`, goodClaims("")), errKey},
		{"an empty kid", with(`{"alg":"HS256","kid":""}`, goodClaims("")), errKey},
		{"kid null", with(`{"alg":"HS256","kid":null}`, goodClaims("")), errKey},
		{"kid a number", with(`{"alg":"HS256","kid":1}`, goodClaims("")), errHeader},
		{"kid a list", with(`{"alg":"HS256","kid":["hs"]}`, goodClaims("")), errHeader},
		{"kid twice", with(`{"alg":"HS256","kid":"x","kid":"hs"}`, goodClaims("")), errHeader},
		{"kid a path", with(`{"alg":"HS256","kid":"../../../dev/null"}`, goodClaims("")), errKey},
		{"kid SQL", with(`{"alg":"HS256","kid":"x' UNION SELECT 'secret"}`, goodClaims("")), errKey},
		{"kid a command", with(`{"alg":"HS256","kid":"hs|id"}`, goodClaims("")), errKey},
		{"kid with a zero", with(`{"alg":"HS256","kid":"hs\u0000"}`, goodClaims("")), errKey},
		{"kid in the wrong case", with(`{"alg":"HS256","kid":"HS"}`, goodClaims("")), errKey},

		{"crit", with(`{"alg":"HS256","kid":"hs","crit":["exp"],"exp":1}`, goodClaims("")), errHeader},
		{"crit, empty", with(`{"alg":"HS256","kid":"hs","crit":[]}`, goodClaims("")), errHeader},
		{"b64 true", with(`{"alg":"HS256","kid":"hs","b64":true}`, goodClaims("")), errHeader},
		{"b64 false", unencoded(`{"alg":"HS256","kid":"hs","b64":false}`), errHeader},
		{"b64 false, critical", unencoded(`{"alg":"HS256","kid":"hs","b64":false,"crit":["b64"]}`), errHeader},

		{"claims that are no object", claims(`["A1"]`), errClaims},
		{"claims that are no JSON", claims(`{"sub":"A1",` + exp), errClaims},
		{"claims that are null", claims(`null`), errSubject},
		{"two subs", claims(`{"sub":"A2","sub":"A1",` + exp + `}`), errClaims},
		{"two exps", claims(`{"sub":"A1","exp":1,` + exp + `}`), errClaims},
		{"no sub", claims(`{` + exp + `}`), errSubject},
		{"sub null", claims(`{"sub":null,` + exp + `}`), errSubject},
		{"sub a number", claims(`{"sub":1,` + exp + `}`), errClaims},
		{"sub a list", claims(`{"sub":["A1"],` + exp + `}`), errClaims},
		{"exp null", claims(`{"sub":"A1","exp":null}`), errNoExpiry},
		{"no exp", claims(`{"sub":"A1"}`), errNoExpiry},
		{"exp in capitals", claims(`{"sub":"A1","EXP":4000000000}`), errNoExpiry},
		{"exp a string", claims(`{"sub":"A1","exp":"4000000000"}`), errClaims},
		{"exp true", claims(`{"sub":"A1","exp":true}`), errClaims},
		{"exp negative", claims(`{"sub":"A1","exp":-1}`), errExpired},
		{"exp negative beyond all time", claims(`{"sub":"A1","exp":-1e19}`), errExpired},
		{"exp zero", claims(`{"sub":"A1","exp":0}`), errExpired},
		{"exp a second ago", claims(fmt.Sprintf(`{"sub":"A1","exp":%d}`, noon.Unix()-1)), errExpired},
		{"exp now", claims(fmt.Sprintf(`{"sub":"A1","exp":%d}`, noon.Unix())), errExpired},
		{"nbf in a second", claims(fmt.Sprintf(`{"sub":"A1",%s,"nbf":%d}`, exp, noon.Unix()+1)), errNotYet},
		{"nbf beyond all time", claims(`{"sub":"A1",` + exp + `,"nbf":9223372036854775807}`), errNotYet},
		{"nbf a string", claims(`{"sub":"A1",` + exp + `,"nbf":"0"}`), errClaims},
		{"aud a number", claims(`{"sub":"A1",` + exp + `,"aud":1}`), errClaims},
		{"iss a list", claims(`{"sub":"A1",` + exp + `,"iss":["i"]}`), errClaims},
	}
	for _, sub := range []string{"", " A1", "A1 ", "A 1", "A1\\u0000", "A1\\n", "Ä1", "../A1", "A1'--", "*", "A1,A2", strings.Repeat("a", 65)} {
		all = append(all, attack{"sub " + sub, claims(`{"sub":"` + sub + `",` + exp + `}`), errSubject})
	}
	for _, none := range []string{"none", "None", "NONE", "nOnE", "", "none ", "null"} {
		header := fmt.Sprintf(`{"alg":%q,"kid":"hs"}`, none)
		input := b64.EncodeToString([]byte(header)) + "." + parts[1]
		all = append(all, attack{"alg " + none + ", unsigned", bearer(input + "."), errMalformed},
			attack{"alg " + none + ", signed", with(header, goodClaims("")), errAlgorithm},
			attack{"alg " + none + ", another's signature", bearer(input + "." + parts[2]), errAlgorithm})
	}
	return append(all, confusions()...)
}

// unencoded signs the claims as RFC 7797 has it.
func unencoded(header string) string {
	head := b64.EncodeToString([]byte(header))
	return "Bearer " + head + "." + b64.EncodeToString([]byte(goodClaims(""))) + "." + b64.EncodeToString(mac(made().secret, head+"."+goodClaims("")))
}

// confusions are tokens made with what everybody knows: the public key, in the spellings a server
// may have it in.
func confusions() []attack {
	public := &made().rsa.PublicKey
	spki, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		panic(err)
	}
	secrets := map[string][]byte{
		"SPKI, DER": spki, "PKCS 1, DER": x509.MarshalPKCS1PublicKey(public), "the modulus": public.N.Bytes(), "JWK": []byte(rsaKey("rs", made().rsa, false)),
		"SPKI, PEM":   pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: spki}),
		"PKCS 1, PEM": pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(public)}),
		"nothing":     {},
	}
	var all []attack
	for name, secret := range secrets {
		for kid, want := range map[string]*Rejection{"rs": errAlgorithm, "ed": errAlgorithm, "hs": errSignature} {
			input := b64.EncodeToString(fmt.Appendf(nil, `{"alg":"HS256","kid":%q}`, kid)) + "." + b64.EncodeToString([]byte(goodClaims("")))
			all = append(all, attack{"a public key for a secret: " + name + " as " + kid, "Bearer " + input + "." + b64.EncodeToString(mac(secret, input)), want})
		}
	}
	return all
}

func TestRefuses(t *testing.T) {
	for _, cache := range caches {
		v := opened(t, allKeys(), Config{Cache: cache})
		if _, err := v.Verify("Bearer "+signed(hsHeader, goodClaims("")), noon); err != nil {
			t.Fatal(err)
		}
		all := attacks()
		for _, a := range all {
			for _, time := range []string{"first", "second"} {
				account, err := v.Verify(a.header, noon)
				if account != "" || err != error(a.want) {
					t.Errorf("cache %s: %s, the %s time: %q, %v, want %v", cache, a.name, time, account, err, a.want)
				}
			}
		}
		if s := v.Stats(); s.Rejected != 2*uint64(len(all)) || s.Hits != 0 {
			t.Errorf("cache %s: %+v, of %d attacks", cache, s, len(all))
		}
	}
}

// A token in which any one bit is another is none, though its first form is in the cache.
func TestRefusesFlippedBits(t *testing.T) {
	v := opened(t, allKeys(), Config{Cache: "digest"})
	for _, header := range []string{hsHeader, rsHeader, edHeader} {
		good := signed(header, goodClaims(""))
		if _, err := v.Verify("Bearer "+good, noon); err != nil {
			t.Fatal(err)
		}
		for i := range 8 * len(good) {
			bad := []byte(good)
			bad[i/8] ^= 1 << (i % 8)
			if account, err := v.Verify("Bearer "+string(bad), noon); err == nil {
				t.Fatalf("bit %d of byte %d is another: %q", i%8, i/8, account)
			}
		}
		for n := range len(good) {
			if account, err := v.Verify("Bearer "+good[:n], noon); err == nil {
				t.Fatalf("%d bytes of it: %q", n, account)
			}
		}
	}
}

// A key that the token brings itself verifies nothing.
func TestNeverUsesTheTokensKey(t *testing.T) {
	v := opened(t, jwks(octKey("hs", []byte(strings.Repeat("x", 32))), edKey("ed", false)), Config{})
	for name, c := range map[string]struct {
		token string
		want  *Rejection
	}{
		"an unknown kid":     {signed(`{"alg":"RS256","kid":"rs","jwk":`+rsaKey("rs", made().rsa, false)+`}`, goodClaims("")), errKey},
		"no kid":             {signed(`{"alg":"EdDSA","jwk":`+edKey("mine", false)+`}`, goodClaims("")), errKey},
		"a known kid":        {signed(`{"alg":"HS256","kid":"hs","jwk":`+edKey("hs", false)+`}`, goodClaims("")), errSignature},
		"a known kid, a set": {signed(`{"alg":"HS256","kid":"hs","jku":"data:application/json,{}"}`, goodClaims("")), errSignature},
	} {
		if _, err := v.Verify("Bearer "+c.token, noon); err != error(c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestAudienceAndIssuer(t *testing.T) {
	for _, cache := range caches {
		v := opened(t, allKeys(), Config{Cache: cache, Audience: "orders", Issuer: "https://id"})
		for _, c := range []struct {
			more string
			want *Rejection
		}{
			{`,"aud":"orders","iss":"https://id"`, nil},
			{`,"aud":["billing","orders"],"iss":"https://id"`, nil},
			{`,"aud":"billing","iss":"https://id"`, errAudience},
			{`,"aud":["billing"],"iss":"https://id"`, errAudience},
			{`,"aud":[],"iss":"https://id"`, errAudience},
			{`,"aud":"orders billing","iss":"https://id"`, errAudience},
			{`,"aud":"ORDERS","iss":"https://id"`, errAudience},
			{`,"aud":null,"iss":"https://id"`, errClaims},
			{`,"iss":"https://id"`, errAudience},
			{`,"aud":["orders",1],"iss":"https://id"`, errClaims},
			{`,"aud":"orders","iss":"https://id/"`, errIssuer},
			{`,"aud":"orders","iss":""`, errIssuer},
			{`,"aud":"orders"`, errIssuer},
		} {
			for range 2 {
				_, err := v.Verify("Bearer "+signed(hsHeader, goodClaims(c.more)), noon)
				if r, _ := errors.AsType[*Rejection](err); r != c.want {
					t.Errorf("cache %s: %s: %v, want %v", cache, c.more, err, c.want)
				}
			}
		}
	}
}

// Times are compared on every request: what the cache knows is as good as its times, with the
// leeway and without.
func TestTimesOfWhatIsCached(t *testing.T) {
	now := time.Now().Truncate(time.Second) // the cache looks at the clock itself
	token := signed(hsHeader, fmt.Sprintf(`{"sub":"A1","nbf":%d,"exp":%d}`, now.Unix()-10, now.Unix()+100))
	for _, leeway := range []time.Duration{0, 30 * time.Second} {
		for _, cache := range caches {
			v := opened(t, allKeys(), Config{Cache: cache, Leeway: leeway})
			for _, c := range []struct {
				at   time.Duration
				want *Rejection
			}{
				{0, nil},
				{-10*time.Second - leeway, nil},
				{-10*time.Second - leeway - 1, errNotYet},
				{100*time.Second + leeway - 1, nil},
				{100*time.Second + leeway, errExpired},
				{1000 * time.Hour, errExpired},
				{0, nil},
			} {
				_, err := v.Verify("Bearer "+token, now.Add(c.at))
				if r, _ := errors.AsType[*Rejection](err); r != c.want {
					t.Errorf("cache %s, leeway %v: after %v: %v, want %v", cache, leeway, c.at, err, c.want)
				}
			}
			if s := v.Stats(); cache == "digest" && (s.Verified != 1 || s.Hits != 6) {
				t.Errorf("leeway %v: %+v", leeway, s)
			}
		}
	}
}

// A description fits into WWW-Authenticate (RFC 6750, 3), and is a fixed text.
func TestDescriptions(t *testing.T) {
	for _, a := range attacks() {
		for _, c := range []byte(a.want.Description) {
			if c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
				t.Errorf("%q has the character %q", a.want.Description, c)
			}
		}
		if a.want.Missing != (a.want == errMissing) || a.want.Error() == "" {
			t.Errorf("%+v", a.want)
		}
	}
}
