// What the wallet's libraries expect of any platform.
export { Buffer } from "buffer/";
