package auth

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dyno/parts/assembly"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var b64 = base64.RawURLEncoding

// Keys of each kind, made once: an RSA key takes its time.
var made = sync.OnceValue(func() (k struct {
	secret []byte
	ed     ed25519.PrivateKey
	rsa    *rsa.PrivateKey
}) {
	k.secret = []byte("0123456789abcdef0123456789abcdef")
	k.ed = ed25519.NewKeyFromSeed([]byte("fedcba9876543210fedcba9876543210"))
	k.rsa, _ = rsa.GenerateKey(rand.Reader, 2048)
	return k
})

// The keys as a JWKS has them.
func octKey(kid string, secret []byte) string {
	return fmt.Sprintf(`{"kty":"oct","alg":"HS256","kid":%q,"k":%q}`, kid, b64.EncodeToString(secret))
}

func edKey(kid string, private bool) string {
	d := ""
	if private {
		d = fmt.Sprintf(`,"d":%q`, b64.EncodeToString(made().ed.Seed()))
	}
	return fmt.Sprintf(`{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","kid":%q,"x":%q%s}`, kid, b64.EncodeToString(made().ed.Public().(ed25519.PublicKey)), d)
}

func rsaKey(kid string, key *rsa.PrivateKey, private bool) string {
	n := func(i *big.Int) string { return b64.EncodeToString(i.Bytes()) }
	secret := ""
	if private {
		secret = fmt.Sprintf(`,"d":%q,"p":%q,"q":%q`, n(key.D), n(key.Primes[0]), n(key.Primes[1]))
	}
	return fmt.Sprintf(`{"kty":"RSA","alg":"RS256","kid":%q,"e":"AQAB","n":%q%s}`, kid, n(key.N), secret)
}

func jwks(keys ...string) string { return `{"keys":[` + strings.Join(keys, ",") + `]}` }

// allKeys are one of each, the asymmetric ones public.
func allKeys() string {
	return jwks(octKey("hs", made().secret), rsaKey("rs", made().rsa, false), edKey("ed", false))
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// opened is a Verifier over a file with these keys.
func opened(t testing.TB, keys string, c Config) *Verifier {
	t.Helper()
	c.File = filepath.Join(t.TempDir(), "jwks.json")
	write(t, c.File, keys)
	v, err := Open(completed(c))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// completed gives what a test leaves out the tags' defaults, no cache and no log.
func completed(c Config) Config {
	d := assembly.Defaults[Config]()
	c.Cache, c.CacheSize, c.Reload = cmp.Or(c.Cache, "none"), cmp.Or(c.CacheSize, d.CacheSize), cmp.Or(c.Reload, d.Reload)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// signed makes a token of this very text, without the library whose reading of it is tested.
func signed(header, claims string) string {
	input := b64.EncodeToString([]byte(header)) + "." + b64.EncodeToString([]byte(claims))
	var head struct{ Alg string }
	json.Unmarshal([]byte(header), &head)
	return input + "." + b64.EncodeToString(signature(head.Alg, input))
}

func signature(alg, input string) []byte {
	switch alg {
	case "RS256":
		sum := sha256.Sum256([]byte(input))
		s, err := rsa.SignPKCS1v15(nil, made().rsa, crypto.SHA256, sum[:])
		if err != nil {
			panic(err)
		}
		return s
	case "EdDSA":
		return ed25519.Sign(made().ed, []byte(input))
	default:
		return mac(made().secret, input)
	}
}

func mac(secret []byte, input string) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte(input))
	return m.Sum(nil)
}

const (
	hsHeader = `{"alg":"HS256","typ":"JWT","kid":"hs"}`
	rsHeader = `{"alg":"RS256","kid":"rs"}`
	edHeader = `{"alg":"EdDSA","kid":"ed"}`
)

// noon is the time at which tests ask.
var noon = time.Unix(1_900_000_000, 0)

// claimsAt are good from an hour before to an hour after noon.
func goodClaims(more string) string {
	return fmt.Sprintf(`{"sub":"A1","nbf":%d,"exp":%d%s}`, noon.Unix()-3600, noon.Unix()+3600, more)
}

// buffer is a log that tests read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
