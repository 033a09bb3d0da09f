package database

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestDSN(t *testing.T) {
	for dsn, writable := range map[string]bool{
		"postgres://a@one:1/db":                                                false,
		"postgres://a@one:1/db?sslmode=prefer":                                 false, // two ways to one host
		"postgres://a@one:1,two:1/db":                                          true,
		"postgres://a@one:1,one:2/db":                                          true,
		"host=one,two user=a":                                                  true,
		"postgres://a@one:1,two:1/db?target_session_attrs=any":                 false,
		"postgres://a@one:1,two:1/db?target_session_attrs=any&sslmode=disable": false,
	} {
		config, err := ParseDSN(dsn, Primary)
		if err != nil {
			t.Fatal(err)
		}
		if got := config.ValidateConnect != nil; got != writable {
			t.Errorf("%s: only a primary is %v", dsn, got)
		}
		if config, _ := ParseDSN(dsn, Replica); config.ValidateConnect != nil {
			t.Errorf("%s: a replica must be a primary", dsn)
		}
	}
}

// What is asked for in the environment holds, too.
func TestDSNWithEnvironment(t *testing.T) {
	const dsn = "postgres://a@one:1,two:1/db"
	for attrs, want := range map[string]pgconn.ValidateConnectFunc{
		"any": nil, "primary": pgconn.ValidateConnectTargetSessionAttrsPrimary, "prefer-standby": pgconn.ValidateConnectTargetSessionAttrsPreferStandby,
	} {
		t.Setenv("PGTARGETSESSIONATTRS", attrs)
		config, err := ParseDSN(dsn, Primary)
		if err != nil {
			t.Fatal(err)
		}
		if reflect.ValueOf(config.ValidateConnect).Pointer() != reflect.ValueOf(want).Pointer() {
			t.Errorf("%s is overridden", attrs)
		}
	}
}

// No part of a DSN is in an error, in whatever form the password has: only names of settings, and
// what is wrong.
func TestDSNUnreadable(t *testing.T) {
	for dsn, want := range map[string]string{
		"host=h password = s3cret sslmode=nonsense":          "sslmode is invalid",
		"host=h password='s3c ret' sslmode=nonsense":         "sslmode is invalid",
		"host=h password=s3cret sslmode = is":                "cannot be read; ",
		"postgres://a:s3cret@host:port/db":                   "cannot be read",
		"postgres://a:s3/cret@host:5432/db":                  "cannot be read",
		"postgres://a@host:5432/db?pass%77ord=s3cret&port=x": "cannot be read; ",
		"host=h sslrootcert=/s3cret sslmode=verify-full":     "cannot be read; ",
		"host=h connect_timeout=s3cret":                      "cannot be read; ",
		"s3cret":                                             "cannot be read",
		"":                                                   "is empty",
		" \n":                                                "is empty",
	} {
		_, err := ParseDSN(dsn, Primary)
		if !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "looks like postgres://") {
			t.Errorf("%q: %v, want %q", dsn, err, want)
			continue
		}
		if _, wrapped := errors.AsType[*pgconn.ParseConfigError](err); wrapped || strings.Contains(err.Error(), "s3c") || strings.Contains(err.Error(), "ret ") {
			t.Errorf("%q is reported as: %v", dsn, err)
		}
	}
}
