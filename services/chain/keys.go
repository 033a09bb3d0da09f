package chain

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/spf13/pflag"

	"dyno/parts/daemon"
	"dyno/services/chain/api/accounts"
	"dyno/services/chain/genesis"
)

// devKeys is the flag that names keys which the node has, and signs with for every client.
type devKeys struct{ from string }

// knownKeys is the flag's value for the ten keys that everybody has.
const knownKeys = "development"

// mostKeys bounds a file of keys.
const mostKeys = 1000

func (f *devKeys) declare(set *pflag.FlagSet) {
	set.StringVar(&f.from, "dev-accounts", "", "`FILE` with private keys, a line each in hexadecimal, with which every client may have the node sign (eth_sendTransaction); "+
		knownKeys+": those of the ten development accounts. Without it, the development chain alone has these ten, and only on a loopback address")
}

// open returns the keys. On the development chain and on test chains, whose keys are no secret, no flag
// is needed, unless other machines could use them.
func (f *devKeys) open(env *daemon.Env, g *genesis.Genesis, readOnly, test bool) (accounts.Keys, error) {
	if f.from == "" {
		if !readOnly && (test || g.Block().Hash() == genesis.Development().Block().Hash()) && loopback(env.Listen) {
			return genesis.Keys(), nil
		}
		return nil, nil
	}
	keys, err := accounts.Keys(genesis.Keys()), error(nil)
	if f.from != knownKeys {
		keys, err = readKeys(f.from)
	}
	if err != nil {
		return nil, daemon.Usage(fmt.Errorf("--dev-accounts: %w", err))
	}
	env.Log.Warn("every client may have this node sign with its keys: use none that are worth anything", "keys", len(keys), "flag", "--dev-accounts")
	return keys, nil
}

// loopback reports whether only this machine reaches a listener.
func loopback(l net.Listener) bool {
	if l == nil {
		return false
	}
	a, ok := l.Addr().(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}

// readKeys reads a file of keys. Empty lines, and those that begin with #, say nothing.
func readKeys(path string) (keys accounts.Keys, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		key, err := crypto.HexToECDSA(strings.TrimPrefix(line, "0x"))
		if err != nil {
			return nil, fmt.Errorf("line %d of %s is no private key of 64 hexadecimal digits", n, path)
		}
		if keys = append(keys, key); len(keys) > mostKeys {
			return nil, fmt.Errorf("%s has more than %d keys", path, mostKeys)
		}
	}
	if len(keys) == 0 {
		err = errors.New(path + " has no keys")
	}
	return keys, errors.Join(lines.Err(), err)
}
