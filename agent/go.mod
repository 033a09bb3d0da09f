module dyno/agent

go 1.26.0
