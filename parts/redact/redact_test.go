package redact

import (
	"net/url"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"nats://user:s3cret@a:4222":                                "nats://user:***@a:4222",
		"nats://u:s3cret@a:4222,nats://v:s3cret@b:4222":            "nats://u:***@a:4222,nats://v:***@b:4222",
		"nats://a:4222,nats://u:s3cret@b":                          "nats://a:4222,nats://u:***@b",
		"nats://s3cret@a":                                          "nats://***@a",
		"https://s3cret:@api.example/x":                            "https://***@api.example/x",
		"postgres://u:p@s3cret@h1:5432,h2:5432/db?sslmode=disable": "postgres://u:***@h1:5432,h2:5432/db?sslmode=disable",
		`parse "nats://user:s3/cret@h": invalid port`:              `parse "nats://user:***@h": invalid port`,
		"nats://user:s3 cret@h":                                    "nats://user:***@h",
		`parse "nats://user:s3 cret@h": invalid userinfo`:          `parse "nats://user:***@h": invalid userinfo`,
		"amqp://user:s3cret?#x@h/v":                                "amqp://user:***@h/v",
		"postgres://h/db?user=u&password=s3cret&sslmode=disable":   "postgres://h/db?user=u&password=***&sslmode=disable",
		"postgres://h/db?sslpassword=s3cret":                       "postgres://h/db?sslpassword=***",
		"http://h/?access_token=s3cret&a=1":                        "http://h/?access_token=***&a=1",
		"http://h/?a=1&key=s3cret":                                 "http://h/?a=1&key=***",
		"host=h password=s3cret user=u":                            "host=h password=*** user=u",
		`host=h password = 's3 cr\'et' user=u`:                     `host=h password = *** user=u`,
		"PGPASSWORD=s3cret,x":                                      "PGPASSWORD=***",
		"dsn=u:s3c@r/et@tcp(127.0.0.1:3306)/db?parseTime=true":     "dsn=u:***@tcp(127.0.0.1:3306)/db?parseTime=true",
		"u:s3cret@unix(/run/mysqld.sock)/db":                       "u:***@unix(/run/mysqld.sock)/db",
		"AccountName=x;AccountKey=s3cret":                          "AccountName=x;AccountKey=***",
		"AWS_SECRET_ACCESS_KEY=s3cret":                             "AWS_SECRET_ACCESS_KEY=***",
	} {
		if got := Text(in); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
		if got := Text(Text(in)); got != want {
			t.Errorf("%s became %s at the second time", in, got)
		}
	}
	for _, plain := range []string{
		"", "http://h:80/x@y?a=b", "nats://a:4222,b:4222", "me@example.com", "tokens=digest", "workers=4", "secret_overlap=24h",
		"the token is missing", "--token-file=f", "key=${key}", "mailto: a@b, c@d", "https://h/@user/post", "f:x@tcp", "main.go:3: me@example.com (x)",
	} {
		if got := Text(plain); got != plain {
			t.Errorf("%s became %s", plain, got)
		}
	}
}

func TestArgs(t *testing.T) {
	for in, want := range map[string]string{
		"serve|--debug-token|s3cret|--set|workers=4": "serve|--debug-token|***|--set|workers=4",
		"--set|jetstream_url=nats://u:s3cret@h":      "--set|jetstream_url=nats://u:***@h",
		"--auth-key|s3cret|--jwt-keys=s3cret|-v":     "--auth-key|***|--jwt-keys=***|-v",
		"-token|--token|x":                           "-token|***|x",
		"-u|me:s3cret|-u|me":                         "-u|me:***|-u|me",
		"-H|X-Api-Key: s3cret, s3cret":               "-H|X-Api-Key: ***",
		"--dsn|host=h password='s3 cret'":            "--dsn|host=h password=***",
		"--requirepass|s3cret":                       "--requirepass|***",
	} {
		if got := strings.Join(Args(strings.Split(in, "|")), "|"); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("nats://", "user", "s3cret")
	f.Fuzz(func(t *testing.T, scheme, user, password string) {
		Text(scheme + user + password)
		u := url.URL{Scheme: "http", User: url.UserPassword("u"+user, "s3cret"+password), Host: "h"}
		if got := Text(u.String()); strings.Contains(got, "s3cret"+url.QueryEscape(password)) {
			t.Errorf("%s became %s", u.String(), got)
		}
	})
}
