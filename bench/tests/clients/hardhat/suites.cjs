// Suites over OpenZeppelin's contracts and Hardhat's helpers, for Hardhat 2 and 3. Where the two differ,
// the caller says how: tools() resolves to ethers, the network helpers, and what matchers of
// balances have in front.
const { expect } = require("chai");

module.exports = (tools) => {
  let ethers, helpers, first;
  const deploy = async (name, ...args) => {
    const contract = await ethers.deployContract(name, args);
    await contract.waitForDeployment();
    return contract;
  };
  const wei = 10n ** 18n;

  before(async () => ({ ethers, helpers, first } = await tools()));

  describe("ERC20", () => {
    async function token() {
      const [owner, alice, bob] = await ethers.getSigners();
      return { token: await deploy("Token"), owner, alice, bob };
    }
    it("transfers", async () => {
      const { token: t, owner, alice } = await helpers.loadFixture(token);
      await expect(t.transfer(alice, 5n)).to.changeTokenBalances(...first, t, [owner, alice], [-5n, 5n]);
    });
    it("is as it was for the next test", async () => {
      const { token: t, alice } = await helpers.loadFixture(token);
      expect(await t.balanceOf(alice)).to.equal(0n);
      expect(await t.totalSupply()).to.equal(1000n * wei);
    });
    it("reverts with a custom error", async () => {
      const { token: t, alice, bob } = await helpers.loadFixture(token);
      await expect(t.connect(alice).transfer(bob, 5n)).to.be.revertedWithCustomError(t, "ERC20InsufficientBalance").withArgs(alice.address, 0n, 5n);
    });
    it("spends an allowance", async () => {
      const { token: t, owner, alice, bob } = await helpers.loadFixture(token);
      await expect(t.approve(alice, 7n)).to.emit(t, "Approval").withArgs(owner.address, alice.address, 7n);
      await t.connect(alice).transferFrom(owner, bob, 7n);
      expect(await t.balanceOf(bob)).to.equal(7n);
    });
    it("takes a signed permit", async () => {
      const { token: t, owner, alice } = await helpers.loadFixture(token);
      const deadline = (await helpers.time.latest()) + 1000;
      const { chainId } = await ethers.provider.getNetwork();
      const types = { Permit: [["owner", "address"], ["spender", "address"], ["value", "uint256"], ["nonce", "uint256"], ["deadline", "uint256"]].map(([name, type]) => ({ name, type })) };
      const text = await owner.signTypedData({ name: "Token", version: "1", chainId, verifyingContract: await t.getAddress() }, types, { owner: owner.address, spender: alice.address, value: 9n, nonce: 0n, deadline });
      const { v, r, s } = ethers.Signature.from(text);
      await t.permit(owner, alice, 9n, deadline, v, r, s);
      expect(await t.allowance(owner, alice)).to.equal(9n);
    });
  });

  describe("ERC721", () => {
    it("mints", async () => {
      const [, alice] = await ethers.getSigners();
      const c = await deploy("Collection");
      await expect(c.mint(alice)).to.emit(c, "Transfer").withArgs(ethers.ZeroAddress, alice.address, 0n);
      expect(await c.ownerOf(0n)).to.equal(alice.address);
    });
    it("is not minted to a contract that takes none", async () => {
      const c = await deploy("Collection");
      await expect(c.mint(c)).to.be.revertedWithCustomError(c, "ERC721InvalidReceiver");
    });
  });

  describe("Governor", () => {
    it("proposes, votes and executes", async () => {
      const [owner] = await ethers.getSigners();
      const t = await deploy("Token");
      const council = await deploy("Council", t);
      await t.delegate(owner);
      await t.transfer(council, 100n);
      const call = [[await t.getAddress()], [0n], [t.interface.encodeFunctionData("transfer", [owner.address, 100n])]];
      await council.propose(...call, "pay");
      const id = await council.hashProposal(...call, ethers.id("pay"));
      await helpers.mine(6);
      await expect(council.castVote(id, 1)).to.emit(council, "VoteCast");
      await helpers.mine(51);
      expect(await council.state(id)).to.equal(4n); // succeeded
      await council.execute(...call, ethers.id("pay"));
      expect(await t.balanceOf(council)).to.equal(0n);
    });
  });

  describe("UUPS", () => {
    async function box() {
      const factory = await ethers.getContractFactory("Box");
      const proxy = await deploy("BoxProxy", await deploy("Box"), factory.interface.encodeFunctionData("initialize", [7n]));
      return { box: factory.attach(await proxy.getAddress()) };
    }
    it("is initialized by its proxy, whose owner is the proxy's deployer", async () => {
      const { box: b } = await helpers.loadFixture(box);
      expect(await b.value()).to.equal(7n);
      expect(await b.version()).to.equal(1n);
    });
    it("is not upgraded by another account", async () => {
      const { box: b } = await helpers.loadFixture(box);
      const [, alice] = await ethers.getSigners();
      await expect(b.connect(alice).upgradeToAndCall(await deploy("BoxV2"), "0x")).to.be.revertedWithCustomError(b, "NotOwner");
    });
    it("keeps its state over an upgrade by an account without a key", async () => {
      const { box: b } = await helpers.loadFixture(box);
      const owner = await b.owner();
      await helpers.impersonateAccount(owner);
      await b.connect(await ethers.getSigner(owner)).upgradeToAndCall(await deploy("BoxV2"), "0x");
      await helpers.stopImpersonatingAccount(owner);
      expect(await b.version()).to.equal(2n);
      expect(await b.value()).to.equal(7n);
    });
  });

  describe("Lock", () => {
    async function lock() {
      const time = (await helpers.time.latest()) + 365 * 86_400;
      return { lock: await ethers.deployContract("Lock", [time], { value: 7n }), time };
    }
    it("opens after a year", async () => {
      const { lock: l, time } = await helpers.loadFixture(lock);
      await expect(l.withdraw()).to.be.revertedWith("You can't withdraw yet");
      await helpers.time.increaseTo(time);
      await expect(l.withdraw()).to.changeEtherBalance(...first, l, -7n);
    });
    it("opens for its owner only", async () => {
      const { lock: l, time } = await helpers.loadFixture(lock);
      const [, alice] = await ethers.getSigners();
      await helpers.time.increaseTo(time);
      await expect(l.connect(alice).withdraw()).to.be.revertedWith("You aren't the owner");
    });
  });

  describe("helpers", () => {
    it("write to accounts", async () => {
      const at = ethers.getAddress("0x00000000000000000000000000000000000000dd");
      await helpers.setCode(at, "0x5f545f5260205ff3"); // returns slot 0
      await helpers.setStorageAt(at, 0, 42);
      await helpers.setNonce(at, 7);
      expect(BigInt(await ethers.provider.call({ to: at }))).to.equal(42n);
      expect(BigInt(await helpers.getStorageAt(at, 0))).to.equal(42n);
      expect(await ethers.provider.getTransactionCount(at)).to.equal(7);
    });
    it("take snapshots", async () => {
      const before = await helpers.takeSnapshot();
      const number = await helpers.time.latestBlock();
      await helpers.mine(3);
      await before.restore();
      expect(await helpers.time.latestBlock()).to.equal(number);
    });
    it("mine, with an interval", async () => {
      const [number, time] = [await helpers.time.latestBlock(), await helpers.time.latest()];
      await helpers.mine(10, { interval: 60 });
      expect(await helpers.time.latestBlock()).to.equal(number + 10);
      expect(await helpers.time.latest()).to.be.at.least(time + 540);
      await helpers.mineUpTo(number + 30);
      expect(await helpers.time.latestBlock()).to.equal(number + 30);
    });
    it("set the next block's time, base fee, coinbase, randomness and gas limit", async () => {
      const time = (await helpers.time.latest()) + 500;
      const miner = ethers.getAddress("0x00000000000000000000000000000000000000ee");
      await helpers.time.setNextBlockTimestamp(time);
      await helpers.setNextBlockBaseFeePerGas(123_456_789n);
      await helpers.setCoinbase(miner);
      await helpers.setPrevRandao(5n);
      await helpers.setBlockGasLimit(20_000_000);
      await helpers.mine();
      const block = await ethers.provider.getBlock("latest");
      expect([block.timestamp, block.baseFeePerGas, block.miner, block.gasLimit]).to.deep.equal([time, 123_456_789n, miner, 20_000_000n]);
      expect(BigInt((await ethers.provider.send("eth_getBlockByNumber", ["latest", false])).mixHash)).to.equal(5n);
    });
    it("send in the name of another account", async () => {
      const [whale, poor] = ["0x00000000000000000000000000000000000000cc", "0x00000000000000000000000000000000000000cd"];
      await helpers.setBalance(whale, wei);
      await helpers.impersonateAccount(whale);
      const tx = (await ethers.getSigner(whale)).sendTransaction({ to: poor, value: 3n });
      await expect(tx).to.changeEtherBalance(...first, poor, 3n);
      await helpers.stopImpersonatingAccount(whale);
    });
  });
};
