// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

// OpenZeppelin's contracts, as its own pages put them together.

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";
import {ERC20Votes} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Votes.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {Governor} from "@openzeppelin/contracts/governance/Governor.sol";
import {GovernorCountingSimple} from "@openzeppelin/contracts/governance/extensions/GovernorCountingSimple.sol";
import {GovernorVotes} from "@openzeppelin/contracts/governance/extensions/GovernorVotes.sol";
import {GovernorVotesQuorumFraction} from "@openzeppelin/contracts/governance/extensions/GovernorVotesQuorumFraction.sol";
import {IVotes} from "@openzeppelin/contracts/governance/utils/IVotes.sol";
import {ERC1967Proxy} from "@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol";
import {UUPSUpgradeable} from "@openzeppelin/contracts/proxy/utils/UUPSUpgradeable.sol";
import {Nonces} from "@openzeppelin/contracts/utils/Nonces.sol";

contract Token is ERC20Permit, ERC20Votes {
    constructor() ERC20("Token", "TKN") ERC20Permit("Token") {
        _mint(msg.sender, 1000 ether);
    }

    function _update(address from, address to, uint256 value) internal override(ERC20, ERC20Votes) {
        super._update(from, to, value);
    }

    function nonces(address owner) public view override(ERC20Permit, Nonces) returns (uint256) {
        return super.nonces(owner);
    }
}

contract Collection is ERC721 {
    uint256 public next;

    constructor() ERC721("Collection", "CLN") {}

    function mint(address to) external {
        _safeMint(to, next++);
    }
}

contract Council is Governor, GovernorCountingSimple, GovernorVotes, GovernorVotesQuorumFraction {
    constructor(IVotes token) Governor("Council") GovernorVotes(token) GovernorVotesQuorumFraction(4) {}

    function votingDelay() public pure override returns (uint256) {
        return 5;
    }

    function votingPeriod() public pure override returns (uint256) {
        return 50;
    }
}

contract Box is UUPSUpgradeable {
    error NotOwner();

    address public owner;
    uint256 public value;

    function initialize(uint256 v) external {
        owner = msg.sender;
        value = v;
    }

    function version() external pure virtual returns (uint256) {
        return 1;
    }

    function _authorizeUpgrade(address) internal view override {
        if (msg.sender != owner) revert NotOwner();
    }
}

contract BoxV2 is Box {
    function version() external pure override returns (uint256) {
        return 2;
    }
}

// BoxProxy only gives the proxy a name in this project.
contract BoxProxy is ERC1967Proxy {
    constructor(address code, bytes memory data) ERC1967Proxy(code, data) {}
}

// Lock is that of Hardhat's sample project.
contract Lock {
    uint256 public unlockTime;
    address payable public owner;

    event Withdrawal(uint256 amount, uint256 when);

    constructor(uint256 time) payable {
        require(block.timestamp < time, "Unlock time should be in the future");
        unlockTime = time;
        owner = payable(msg.sender);
    }

    function withdraw() public {
        require(block.timestamp >= unlockTime, "You can't withdraw yet");
        require(msg.sender == owner, "You aren't the owner");
        emit Withdrawal(address(this).balance, block.timestamp);
        owner.transfer(address(this).balance);
    }
}
