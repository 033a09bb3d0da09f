package importer

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestGlob compares glob with curl's manual and curl's behaviour.
func TestGlob(t *testing.T) {
	for pattern, want := range map[string]string{
		"h/[1-3]":                  "h/1 h/2 h/3",
		"h/[098-102:2].txt":        "h/098.txt h/100.txt h/102.txt",
		"[a-c]{1,}":                "a1 a b1 b c1 c",
		"h[1-2]:80[8-9]/":          "h1:808/ h1:809/ h2:808/ h2:809/",
		"[::1]:80/[1-2]":           "[::1]:80/1 [::1]:80/2",
		"[fe80::1%25eth0]/x":       "[fe80::1%25eth0]/x",
		`\{\}\[\]\x`:               `{}[]\x`,
		"{<n>a,b}[<m>1-2]":         "a1 a2 b1 b2",
		"x[]":                      "x[]",
		"{a}":                      "a",
		"{[}":                      "! position 1: a bracket inside of a set",
		"a}":                       "! position 2: a } without",
		"[1-3":                     "! position 1: no range",
		"[1-x]":                    "! position 1: no range",
		"[A-z]":                    "! position 1: no range",
		"[9-1]":                    "! position 1: a range that ends before",
		"[1-3:5]":                  "! position 1: a range whose step",
		"[1-999999]":               "! its pattern stands for more than 50000",
		"[1-999]{a,b}[1-99]":       "! its pattern stands for more than 50000",
		"[0-99999999999999999999]": "! position 1: no range",
	} {
		got, err := glob(pattern)
		if wrong, fails := strings.CutPrefix(want, "! "); fails {
			if err == nil || !strings.HasPrefix(err.Error(), wrong) {
				t.Errorf("%s: %v, want %s", pattern, err, wrong)
			}
		} else if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v, want %s", pattern, got, err, want)
		}
	}
}

// TestCurlLeftOut: requests that cannot be sent as curl sends them are left out and listed, with
// the reason.
func TestCurlLeftOut(t *testing.T) {
	for command, want := range map[string]string{
		`curl h/ --frobnicate x`:                   `curl has no option "--frobnicate"`,
		`curl h/ -sy`:                              "-y, lacks its value",
		`curl h/ -K opts.txt`:                      "options in a file (-K)",
		`curl --variable v=1 --expand-url h/{{v}}`: "variables of curl are not read",
		`curl h/ -d "$DATA"`:                       "it uses $DATA",
		`curl h/ -d"n=$(date)"`:                    "the output of a command",
		`curl h/ -X get`:                           "another case is another method",
		`curl h/ -T -`:                             "uploads (-T) of stdin",
		`curl h/ -T a -T b`:                        "more files (-T) than URLs",
		`curl h/ -I -d x`:                          "one of -I, -d and -T",
		`curl h/ -d @-`:                            "it comes from stdin",
		`curl h/ -d @absent`:                       "its file cannot be read",
		`curl h/a/%2E./b`:                          "versions of curl differ",
		`curl ftp.example.com/x`:                   "only http and https are read",
		`curl --proto-default ftps h/`:             "only http and https are read",
		`curl localhost:/x`:                        "only http and https are read",
		`curl h/ --version`:                        "sends nothing",
		`curl h/ -F a=b`:                           "multipart forms (-F) are not read",
		`curl --request-target '*' h/`:             "no path from the root",
		`curl -s h/{1..99999}`:                     "a long list of words",
	} {
		load, err := readCurl([]byte(command), noFiles)
		if err != nil || len(load.Requests) > 0 || !strings.Contains(fmt.Sprint(load.Left), want) {
			t.Errorf("%s: %v, %+v, want %s", command, err, load, want)
		}
	}
	for command, want := range map[string]string{ // the request is sent, and the rest listed
		`curl h/ --digest -u a:b`: "only Basic and Bearer are sent",
		`curl h/ -u a`:            "it has no password",
		`curl h/ -H "X: $Y"`:      "it uses $Y",
		`curl h/ -H"X: $Y"`:       "it uses $Y",
		`curl h/ -b jar.txt`:      "cookies from a file are not read",
		`curl h/ -x p:1`:          "requests go to the target directly",
		`curl h/ -C -`:            "only a file on disk",
	} {
		load, err := readCurl([]byte(command), noFiles)
		if err != nil || len(load.Requests) != 1 || len(load.Requests[0].Header) > 0 || !strings.Contains(fmt.Sprint(load.Left), want) {
			t.Errorf("%s: %v, %+v, want %s", command, err, load, want)
		}
	}
}

// TestCurlOptions: takesValue has every option that the curl on this machine lists, and whether it
// has a value.
func TestCurlOptions(t *testing.T) {
	program, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	c := exec.Command(program, "-q", "--help", "all")
	c.Env = append(os.Environ(), "COLUMNS=200")
	out, err := c.Output()
	if err != nil {
		t.Skipf("curl --help all: %v", err) // before 7.73
	}
	lines := regexp.MustCompile(`(?m)^ (?:-(.), |    )--(\S+)( [<[])?`).FindAllStringSubmatch(string(out), -1)
	if len(lines) < 200 {
		t.Fatalf("%d options in %s", len(lines), out)
	}
	for _, m := range lines {
		o := readOption("--" + m[2])
		if o.name == "" || takesValue[o.name] != (m[3] != "") {
			t.Errorf("--%s%s is %q, with a value %v", m[2], m[3], o.name, takesValue[o.name])
		}
		if m[1] != "" && flagLetters[m[1][0]] != o.name && m[1] != "i" { // --include is show-headers
			t.Errorf("-%s is %q, not %s", m[1], flagLetters[m[1][0]], o.name)
		}
	}
}
