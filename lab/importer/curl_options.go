package importer

import "strings"

// The options of curl 8.22, by their long names: those with a value, and switches, which --no-NAME
// turns off. If an option with a value were not listed, its value would be read as a URL.
const (
	curlWithValue = `abstract-unix-socket alt-svc aws-sigv4 cacert capath cert cert-type ciphers config connect-timeout connect-to continue-at
		cookie cookie-jar create-file-mode crlfile curves data data-ascii data-binary data-raw data-urlencode delegation dns-interface
		dns-ipv4-addr dns-ipv6-addr dns-servers doh-url dump-header ech egd-file engine etag-compare etag-save expect100-timeout form
		form-string ftp-account ftp-alternative-to-user ftp-method ftp-port ftp-ssl-ccc-mode happy-eyeballs-timeout-ms haproxy-clientip
		header help hostpubmd5 hostpubsha256 hsts httpsig-algo httpsig-headers httpsig-key httpsig-keyid interface ip-tos ipfs-gateway
		json keepalive-cnt keepalive-time key key-type knownhosts krb krb4 libcurl limit-rate local-port login-options mail-auth
		mail-from mail-rcpt max-filesize max-redirs max-time netrc-file noproxy oauth2-bearer output output-dir parallel-max
		parallel-max-host pass pinnedpubkey preproxy proto proto-default proto-redir proxy proxy-cacert proxy-capath proxy-cert
		proxy-cert-type proxy-ciphers proxy-crlfile proxy-header proxy-key proxy-key-type proxy-pass proxy-pinnedpubkey
		proxy-service-name proxy-tls13-ciphers proxy-tlsauthtype proxy-tlspassword proxy-tlsuser proxy-user proxy1.0 pubkey quote
		random-file range rate referer request request-target resolve retry retry-delay retry-max-time sasl-authzid service-name
		sigalgs socks4 socks4a socks5 socks5-gssapi-service socks5-hostname speed-limit speed-time ssl-sessions stderr telnet-option
		tftp-blksize time-cond tls-max tls13-ciphers tlsauthtype tlspassword tlsuser trace trace-ascii trace-config unix-socket
		upload-file upload-flags url url-query user user-agent variable vlan-priority write-out`
	curlSwitches = `alpn anyauth append basic buffer ca-native cert-status clobber compressed compressed-ssh create-dirs crlf digest disable
		disable-eprt disable-epsv disallow-username-in-url doh-cert-status doh-insecure dump-ca-embed eprt epsv fail fail-early
		fail-with-body false-start follow form-escape ftp-create-dirs ftp-pasv ftp-pret ftp-skip-pasv-ip ftp-ssl ftp-ssl-ccc
		ftp-ssl-control ftp-ssl-reqd get globoff haproxy-protocol head http0.9 http1.0 http1.1 http2 http2-prior-knowledge http3
		http3-only ignore-content-length include insecure ipv4 ipv6 junk-session-cookies keepalive list-only location
		location-trusted mail-rcpt-allowfails manual metalink mptcp negotiate netrc netrc-optional next npn ntlm ntlm-wb out-null
		parallel parallel-immediate path-as-is post301 post302 post303 progress-bar progress-meter proxy-anyauth proxy-basic
		proxy-ca-native proxy-digest proxy-http2 proxy-http3 proxy-insecure proxy-negotiate proxy-ntlm proxy-ssl-allow-beast
		proxy-ssl-auto-client-cert proxy-tlsv1 proxytunnel raw remote-header-name remote-name remote-name-all remote-time
		remove-on-error retry-all-errors retry-connrefused sasl-ir sessionid show-error show-headers silent skip-existing
		socks5-basic socks5-gssapi socks5-gssapi-nec ssl ssl-allow-beast ssl-auto-client-cert ssl-no-revoke ssl-reqd
		ssl-revoke-best-effort sslv2 sslv3 styled-output suppress-connect-headers tcp-fastopen tcp-nodelay tftp-no-options
		tls-earlydata tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 tr-encoding trace-ids trace-time use-ascii verbose version xattr`
)

// flagLetters maps short names to long ones.
var flagLetters = map[byte]string{
	'a': "append", 'A': "user-agent", 'b': "cookie", 'B': "use-ascii", 'c': "cookie-jar", 'C': "continue-at", 'd': "data", 'D': "dump-header",
	'e': "referer", 'E': "cert", 'f': "fail", 'F': "form", 'g': "globoff", 'G': "get", 'h': "help", 'H': "header", 'i': "show-headers",
	'I': "head", 'j': "junk-session-cookies", 'J': "remote-header-name", 'k': "insecure", 'K': "config", 'l': "list-only", 'L': "location",
	'm': "max-time", 'M': "manual", 'n': "netrc", 'N': "buffer", 'o': "output", 'O': "remote-name", 'p': "proxytunnel", 'P': "ftp-port",
	'q': "disable", 'Q': "quote", 'r': "range", 'R': "remote-time", 's': "silent", 'S': "show-error", 't': "telnet-option",
	'T': "upload-file", 'u': "user", 'U': "proxy-user", 'v': "verbose", 'V': "version", 'w': "write-out", 'x': "proxy", 'X': "request",
	'y': "speed-time", 'Y': "speed-limit", 'z': "time-cond", 'Z': "parallel", '0': "http1.0", '1': "tlsv1", '2': "sslv2", '3': "sslv3",
	'4': "ipv4", '6': "ipv6", '#': "progress-bar", ':': "next",
}

// takesValue has all options by their long names, and whether they take a value.
var takesValue = func() map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(curlWithValue) {
		all[name] = true
	}
	for _, name := range strings.Fields(curlSwitches) {
		all[name] = false
	}
	return all
}()

// curlOption is an option of a command as it is written there.
type curlOption struct {
	name     string // the long name; empty: curl has no such option
	text     string // as written, for messages: -X, --no-compressed
	off      bool   // --no-NAME
	expand   bool   // --expand-NAME: the value has variables
	value    string // after = or after the letter
	attached bool   // it has such a value
	rest     string // letters that follow, as in -sSL
}

// readOption reads a word that begins with -.
func readOption(w string) (o curlOption) {
	long, isLong := strings.CutPrefix(w, "--")
	if !isLong {
		o.text, o.name = w[:2], flagLetters[w[1]]
		o.off = o.name == "buffer"
		switch rest := w[2:]; {
		case o.name != "" && takesValue[o.name]:
			o.value, o.attached = rest, rest != ""
		default:
			o.rest = rest
		}
		return o
	}
	o.text, o.value, o.attached = w, "", false
	if name, value, ok := strings.Cut(long, "="); ok {
		long, o.text, o.value, o.attached = name, "--"+name, value, true
	}
	if name, ok := strings.CutPrefix(long, "no-"); ok {
		long, o.off = name, true
	} else if name, ok := strings.CutPrefix(long, "expand-"); ok {
		long, o.expand = name, true
	}
	o.name = longName(long)
	if o.name != "" && o.off && takesValue[o.name] {
		o.name = "" // curl has --no- before switches only
	}
	return o
}

// longName returns the option of that name or, as earlier versions of curl do, of a unique prefix;
// empty: there is none.
func longName(name string) (found string) {
	if _, ok := takesValue[name]; ok || name == "" {
		return name
	}
	for have := range takesValue {
		if strings.HasPrefix(have, name) {
			if found != "" {
				return ""
			}
			found = have
		}
	}
	return found
}
