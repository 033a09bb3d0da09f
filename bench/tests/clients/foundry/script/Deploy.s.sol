// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Counter} from "../src/Counter.sol";
import {vm} from "../src/Vm.sol";

// Deploy deploys a counter and calls it, each a transaction.
contract Deploy {
    bool public constant IS_SCRIPT = true;

    function run() external returns (Counter counter) {
        vm.startBroadcast();
        counter = new Counter();
        counter.set(7);
        for (uint256 i = 0; i < 10; i++) counter.increment();
        vm.stopBroadcast();
    }
}
