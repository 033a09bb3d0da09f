package app

import rego.v1

default permitted := false

permitted if {
	some i in numbers.range(1, input.n)
	i * i == input.n * input.n
	input.user == "u"
}

price := http.send({"method": "GET", "url": input.url}).status_code
