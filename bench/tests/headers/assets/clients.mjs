// Sends a GET and a POST of JSON with one HTTP client. Usage: clients.mjs NAME URL; NAME alone prints its version.
import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';

const [name, url] = process.argv.slice(2);
const require = createRequire(process.cwd() + '/');
const load = async pkg => import(pathToFileURL(require.resolve(pkg)));
const headers = {Authorization: 'Bearer TOKEN'}, body = {a: 1};

const version = () => name.startsWith('node') ? process.versions.node : JSON.parse(require('fs').readFileSync('node_modules/' + name + '/package.json')).version;
const clients = {
  'node fetch': async () => {
    await (await fetch(url, {headers})).text();
    await (await fetch(url, {method: 'POST', headers: {...headers, 'Content-Type': 'application/json'}, body: JSON.stringify(body)})).text();
  },
  'node fetch, stream': async () => {
    const stream = new Blob([JSON.stringify(body)]).stream();
    await (await fetch(url, {method: 'POST', headers: {...headers, 'Content-Type': 'application/json'}, body: stream, duplex: 'half'})).text();
  },
  viem: async () => {
    const {createPublicClient, http} = await load('viem');
    await createPublicClient({transport: http(url, {retryCount: 0})}).getChainId().catch(() => {});
  },
  ethers: async () => {
    const {JsonRpcProvider} = await load('ethers');
    const p = new JsonRpcProvider(url, 1, {staticNetwork: true});
    await p.send('eth_chainId', []).catch(() => {});
    p.destroy();
  },
  axios: async () => {
    const {default: axios} = await load('axios');
    await axios.get(url, {headers});
    await axios.post(url, body, {headers});
  },
  undici: async () => {
    const {request} = await load('undici');
    await (await request(url, {headers})).body.text();
    await (await request(url, {method: 'POST', headers: {...headers, 'content-type': 'application/json'}, body: JSON.stringify(body)})).body.text();
  },
};
if (url) await clients[name]();
else console.log(version());
process.exit();
