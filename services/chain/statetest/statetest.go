// Package statetest runs the state tests of ethereum/tests and execution-spec-tests: a transaction
// over a state must leave a state of a known root, and known logs, on each fork that the file
// names.
//
// It is not for blocks, nor for other kinds of tests. It starts no goroutines.
package statetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"os"
	"slices"

	"github.com/ethereum/go-ethereum/common"
)

// Result is what came of one variant of a test's transaction on one fork.
type Result struct {
	File      string      `json:"file"`
	Name      string      `json:"name"`
	Fork      string      `json:"fork"`
	Index     int         `json:"index"` // in the fork's list
	Pass      bool        `json:"pass"`
	StateRoot common.Hash `json:"stateRoot"` // that came out
	Error     string      `json:"error"`     // why it failed; "" if it passed
}

// largestFile bounds what is read, in bytes; the largest files of the public sets have 30 MB.
const largestFile = 512 << 20

// File runs all tests of a file and passes each result to report, in the order of the tests' names,
// forks and indexes. The error is about the file, or report's, or the context's.
func File(ctx context.Context, path string, report func(Result) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(file, largestFile+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if len(text) > largestFile {
		return fmt.Errorf("%s is larger than %d bytes", path, largestFile)
	}
	tests, err := parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		t := tests[name]
		for _, on := range slices.Sorted(maps.Keys(t.Post)) {
			for i, post := range t.Post[on] {
				if err := ctx.Err(); err != nil {
					return err
				}
				r := Result{File: path, Name: name, Fork: on, Index: i}
				root, err := t.run(on, post)
				if r.StateRoot, r.Pass = root, err == nil; err != nil {
					r.Error = err.Error()
				}
				if err := report(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func parse(text []byte) (map[string]test, error) {
	var tests map[string]test
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&tests); err != nil {
		return nil, fmt.Errorf("%w: %w", errFormat, err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: something follows the tests", errFormat)
	}
	for name, t := range tests {
		if len(t.Post) == 0 {
			return nil, fmt.Errorf("%w: %s has no post", errFormat, name)
		}
		for _, account := range t.Pre {
			if account.Balance == nil || account.Balance.Sign() < 0 || account.Balance.BitLen() > 256 {
				return nil, fmt.Errorf("%w: %s: an account of pre has no balance of 256 bits", errFormat, name)
			}
		}
	}
	return tests, nil
}

// bigOr is a number, or another if there is none.
func bigOr(x *big.Int, other int64) *big.Int {
	if x == nil {
		return big.NewInt(other)
	}
	return x
}
