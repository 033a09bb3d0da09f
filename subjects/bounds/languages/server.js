// The servers of package languages that run in node. Arguments: name, address, parameters as JSON, and the line to
// print with the address in it. server.py is the same for Python.
'use strict'
const http = require('http')
const [name, listen, json, line] = process.argv.slice(1)
const p = JSON.parse(json)

function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }

// stop stops the event loop, as a synchronous call does.
const cell = new Int32Array(new SharedArrayBuffer(4))
function stop(us) { Atomics.wait(cell, 0, 0, us / 1000) }

function compute(us) {
  const until = process.hrtime.bigint() + BigInt(us) * 1000n
  while (process.hrtime.bigint() < until) fib(10)
}

// places is a pool: take calls back when one of its places is free, with the function that frees it.
const waiting = []
let taken = 0
function take(most, next) {
  if (taken === most) return waiting.push(next)
  taken++
  next(() => {
    taken--
    const first = waiting.shift()
    if (first) take(most, first)
  })
}

let answers = 0
const agent = new http.Agent({ keepAlive: true, maxSockets: p.connections || Infinity })

const serve = {
  'node-compute': (answer) => answer(`${fib(p.fib)}\n`),
  'node-timer': (answer) => setTimeout(() => answer('slept\n'), p.sleep_us / 1000),
  'node-pool': (answer) => take(p.places, (free) => setTimeout(() => { free(); answer('had a place\n') }, p.hold_us / 1000)),
  'node-blocked': (answer) => { stop(p.block_us); answer('stopped\n') },
  'node-call': (answer) => http.get(`http://${p.backend}/price?item=lamp`, { agent }, (price) => {
    const parts = []
    price.on('data', (part) => parts.push(part))
    price.on('end', () => answer(`our offer: ${Buffer.concat(parts)}`))
  }).on('error', (e) => answer(`${e}\n`, 502)),
  'node-mixed': (answer) => { compute(p.compute_us); stop(p.block_us); answer('computed and stopped\n') },
  'node-failing': (answer) => ++answers % p.each ? answer('yes\n') : answer('no\n', 503),
}[name]

const server = http.createServer((request, response) => {
  serve((text, status = 200) => {
    if (name === 'node-blocked') response.setHeader('Connection', 'close')
    response.writeHead(status, { 'Content-Length': Buffer.byteLength(text) })
    response.end(text)
  })
})
const colon = listen.lastIndexOf(':')
server.listen({ host: listen.slice(0, colon), port: Number(listen.slice(colon + 1)), backlog: p.backlog }, () => {
  const { address, port } = server.address()
  console.log(line.replace('ADDRESS', `${address}:${port}`))
})
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0))
