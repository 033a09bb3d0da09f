// In place of Node's modules that the wallet's libraries import for servers.
export default {};
